"""The recurrence of Mamba, written as a loop over time."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (1, 24, 8, 4), "cpu": (1, 128, 128, 16), "gpu": (2, 128, 2048, 16)}
BATCH, TOKENS, WIDTH, STATES = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, width, states):
        super().__init__()
        self.log_rates = nn.Parameter(torch.rand(width, states))
        self.skip = nn.Parameter(torch.ones(width))

    def forward(self, x, steps, into, out):
        rates = -torch.exp(self.log_rates)
        state = torch.zeros_like(x[:, 0, :, None] * rates)
        found = []
        for t in range(x.shape[1]):
            kept = torch.exp(steps[:, t, :, None] * rates)
            state = kept * state + (steps[:, t] * x[:, t])[..., None] * into[:, t, None]
            found.append((state * out[:, t, None]).sum(-1))
        return torch.stack(found, dim=1) + self.skip * x


def get_inputs():
    x = torch.randn(BATCH, TOKENS, WIDTH)
    steps = torch.rand(BATCH, TOKENS, WIDTH) * 0.1
    return [x, steps, *(torch.randn(BATCH, TOKENS, STATES) for _ in range(2))]


def get_init_inputs():
    return [WIDTH, STATES]
