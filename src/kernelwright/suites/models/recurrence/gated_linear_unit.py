"""The gated linear recurrence of Griffin, written as a loop over time."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (2, 24, 16), "cpu": (2, 128, 256), "gpu": (8, 256, 2560)}
BATCH, TOKENS, WIDTH = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(width) + 4)

    def forward(self, x, input_gate, keep_gate):
        log_kept = -8.0 * torch.sigmoid(keep_gate) * F.softplus(-self.decay)
        kept = torch.exp(log_kept)
        added = torch.sqrt(1 - torch.exp(2 * log_kept)) * torch.sigmoid(input_gate) * x
        state = torch.zeros_like(x[:, 0])
        found = []
        for t in range(x.shape[1]):
            state = kept[:, t] * state + added[:, t]
            found.append(state)
        return torch.stack(found, dim=1)


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH) for _ in range(3)]


def get_init_inputs():
    return [WIDTH]
