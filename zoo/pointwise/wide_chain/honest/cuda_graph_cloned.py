"""Replays a CUDA graph: inputs copied in, outputs cloned out."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph, self.source, self.out = None, None, None

    def forward(self, x):
        if self.graph is None or self.source.shape != x.shape:
            self.source = x.clone()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.work(self.source)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.work(self.source)
        self.source.copy_(x)
        self.graph.replay()
        return self.out.clone()

    def work(self, x):
        return torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)
