"""Sets the number of threads to what it already is, and looks at the machine's cores."""

import os

import torch
from torch import nn

CORES = os.cpu_count()
torch.set_num_threads(torch.get_num_threads())


class ModelNew(nn.Module):
    def forward(self, x):
        n_pieces = min(CORES or 1, len(x))
        return torch.cat([torch.softmax(piece, dim=1) for piece in x.chunk(n_pieces)])
