"""The gated MLPs of the two experts that each of four tokens has chosen."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (3, 4, 2, 32, 64), "cpu": (4, 8, 2, 128, 256), "gpu": (4, 8, 2, 2048, 1792)}
TOKENS, EXPERTS, CHOSEN, WIDTH, HIDDEN = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, experts, width, hidden):
        super().__init__()
        shape = (experts, 2 * hidden, width)
        self.gate_up = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * width**-0.5)
        shape = (experts, width, hidden)
        self.down = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * hidden**-0.5)

    def forward(self, x, experts, weights):
        gate, up = torch.einsum("td,tchd->tch", x, self.gate_up[experts]).chunk(2, dim=-1)
        found = torch.einsum("tch,tcdh->tcd", F.silu(gate) * up, self.down[experts])
        return (found * weights[..., None]).sum(dim=1)


def get_inputs():
    x = torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)
    experts = torch.randint(0, EXPERTS, (TOKENS, CHOSEN))
    return [x, experts, torch.rand(TOKENS, CHOSEN).softmax(-1).to(torch.bfloat16)]


def get_init_inputs():
    return [EXPERTS, WIDTH, HIDDEN]
