"""The mean loss, and the likeliest words, at the masked places of texts."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, width, words):
        super().__init__()
        self.head = nn.Linear(width, words)

    def forward(self, hidden, labels, masked):
        logits = self.head(hidden)
        losses = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        loss = (losses.view(labels.shape) * masked).sum() / masked.sum().clamp(min=1)
        return loss, logits.argmax(-1).masked_fill(~masked, -1)


def get_inputs():
    shape = (8, 64)
    return [torch.randn(*shape, 64), torch.randint(500, shape), torch.rand(shape) < 0.15]


def get_init_inputs():
    return [64, 500]
