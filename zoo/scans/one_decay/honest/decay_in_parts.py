"""Parts of a decayed sum one after the other, and what is left of those before."""

import torch
from torch import nn

N = 64


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.rate = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        ages = torch.arange(N, device=x.device)
        within = torch.exp(-self.rate * (ages[:, None] - ages).clamp(min=0)).tril()
        carried, found = torch.exp(-self.rate * (ages + 1)), []
        state = x.new_zeros(len(x), 1)
        for part in x.split(N, 1):
            found.append(part @ within.mT + state * carried)
            state = found[-1][:, -1:]
        return torch.cat(found, 1)
