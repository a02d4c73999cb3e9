"""torch's own make_graphed_callables around an inner module, and a clone of what it returns."""

import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self, outer):
        super().__init__()
        self.layers = nn.ModuleList([outer.first, outer.second, outer.third])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class ModelNew(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.first = nn.Linear(n_in, n_hidden)
        self.second = nn.Linear(n_hidden, n_hidden)
        self.third = nn.Linear(n_hidden, n_out)
        self.graphs = {}

    def forward(self, x):
        if x.shape not in self.graphs:
            with torch.enable_grad():
                inner = Inner(self)
                self.graphs[x.shape] = torch.cuda.make_graphed_callables(inner, (x.clone(),))
        return self.graphs[x.shape](x).detach().clone()
