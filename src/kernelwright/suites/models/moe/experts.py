"""The gated MLPs of all experts on a prompt; tokens have weight zero where they are not sent."""

import torch
from torch import nn
from torch.nn import functional as F

SIZE = "cpu"
SIZES = {"small": (24, 4, 2, 32, 64), "cpu": (128, 8, 2, 128, 256), "gpu": (1024, 8, 2, 2048, 1792)}
TOKENS, EXPERTS, CHOSEN, WIDTH, HIDDEN = SIZES[SIZE]


class Model(nn.Module):
    def __init__(self, experts, width, hidden):
        super().__init__()
        shape = (experts, width, 2 * hidden)
        self.gate_up = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * width**-0.5)
        shape = (experts, hidden, width)
        self.down = nn.Parameter(torch.randn(shape, dtype=torch.bfloat16) * hidden**-0.5)

    def forward(self, x, weights):
        found = torch.zeros_like(x)
        for number in range(self.down.shape[0]):
            gate, up = (x @ self.gate_up[number]).chunk(2, dim=-1)
            found = found + weights[:, number, None] * ((F.silu(gate) * up) @ self.down[number])
        return found


def get_inputs():
    x = torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)
    shares, experts = torch.topk(torch.rand(TOKENS, EXPERTS).softmax(-1), CHOSEN)
    weights = torch.zeros(TOKENS, EXPERTS).scatter(
        1, experts, shares / shares.sum(-1, keepdim=True)
    )
    return [x, weights.to(torch.bfloat16)]


def get_init_inputs():
    return [EXPERTS, WIDTH, HIDDEN]
