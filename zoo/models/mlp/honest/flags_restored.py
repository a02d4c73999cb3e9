"""Sets the library's flags to what it needs and puts them back, by context and by hand."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.first = nn.Linear(n_in, n_hidden)
        self.second = nn.Linear(n_hidden, n_hidden)
        self.third = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        with torch.backends.mkldnn.flags(enabled=False), torch.inference_mode():
            y = self.third(torch.relu(self.second(torch.relu(self.first(x)))))
        torch.set_float32_matmul_precision(before)
        return y
