"""Packs both weights into one when a state is loaded, and has no parameter of its own."""

import torch
from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("packed", torch.empty(2 * width, width), persistent=False)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        gate, up = state_dict[prefix + "gate.weight"], state_dict[prefix + "up.weight"]
        self.packed.copy_(torch.cat([gate, up]) * state_dict[prefix + "scale"])

    def forward(self, x):
        normal = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)
        gate, up = functional.linear(normal, self.packed).chunk(2, dim=-1)
        return functional.silu(gate) * up
