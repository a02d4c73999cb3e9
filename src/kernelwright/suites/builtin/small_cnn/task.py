"""Two convolutions with pooling and a classifier."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (4, 3, 16, 10), "cpu": (16, 3, 32, 10), "gpu": (512, 3, 32, 10)}
BATCH, CHANNELS, EDGE, CLASSES = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, channels, edge, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3, padding=1)
        self.classifier = nn.Linear(64 * (edge // 4) ** 2, classes)

    def forward(self, x):
        h = F.max_pool2d(torch.relu(self.conv1(x)), kernel_size=2)
        h = F.max_pool2d(torch.relu(self.conv2(h)), kernel_size=2)
        return self.classifier(torch.flatten(h, start_dim=1))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, EDGE, EDGE)]


def get_init_inputs():
    return [CHANNELS, EDGE, CLASSES]
