"""A plain recurrent network, one step after the other, with an output at every step."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (6, 8, 16, 32), "cpu": (32, 32, 128, 256), "gpu": (64, 64, 256, 512)}
STEPS, BATCH, INPUTS, HIDDEN = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.step = nn.Linear(inputs + hidden, hidden)
        self.out = nn.Linear(hidden, inputs)

    def forward(self, x, state):
        outputs = []
        for x_t in x.unbind(0):
            state = torch.tanh(self.step(torch.cat([x_t, state], dim=1)))
            outputs.append(self.out(state))
        return torch.stack(outputs)


def get_inputs():
    return [torch.randn(STEPS, BATCH, INPUTS), torch.randn(BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUTS, HIDDEN]
