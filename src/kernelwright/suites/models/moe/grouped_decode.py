"""The experts that 16 tokens of a decoding step have chosen: sorted rows, and grouped products."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 4, 2, 32, 64), "cpu": (16, 8, 2, 128, 256), "gpu": (16, 8, 2, 2048, 1792)}
TOKENS, EXPERTS, CHOSEN, WIDTH, HIDDEN = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, experts, width, hidden):
        super().__init__()
        shape = (experts, 2 * hidden, width)
        self.gate_up = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * width**-0.5)
        shape = (experts, width, hidden)
        self.down = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * hidden**-0.5)

    def forward(self, x, experts, weights):
        chosen, order = experts.flatten().sort(stable=True)
        numbers = torch.arange(self.down.shape[0], device=x.device)
        ends = (chosen[:, None] <= numbers).sum(dim=0, dtype=torch.int32)
        rows = x[order // experts.shape[1]]
        gate, up = F.grouped_mm(rows, self.gate_up.mT, offs=ends).chunk(2, dim=-1)
        found = F.grouped_mm(F.silu(gate) * up, self.down.mT, offs=ends)
        found = found * weights.flatten()[order, None]
        back = torch.empty_like(order).scatter(0, order, torch.arange(len(order), device=x.device))
        return found[back].unflatten(0, weights.shape).sum(dim=1)


def get_inputs():
    x = torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)
    weights, experts = torch.topk(torch.rand(TOKENS, EXPERTS).softmax(-1), CHOSEN)
    return [x, experts, weights.to(torch.bfloat16)]


def get_init_inputs():
    return [EXPERTS, WIDTH, HIDDEN]
