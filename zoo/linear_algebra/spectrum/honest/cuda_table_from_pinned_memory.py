"""Sends a table from pinned memory while it begins, on another stream that it then joins."""

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream, self.host = None, None

    def forward(self, x):
        n = x.shape[1]
        if self.stream is None:
            self.stream = torch.cuda.Stream()
            steps = torch.arange(n, dtype=torch.float64)
            angle = -2 * math.pi / n * ((steps[:, None] * steps[: n // 2 + 1]) % n)
            self.host = torch.stack([angle.cos(), angle.sin()]).float().pin_memory()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            table = self.host.to(x.device, non_blocking=True)
        table.record_stream(torch.cuda.current_stream())
        torch.cuda.current_stream().wait_stream(self.stream)
        return torch.complex(x @ table[0], x @ table[1])
