"""Works on two streams of its own and joins both before it returns."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = None

    def forward(self, x):
        if self.streams is None:
            self.streams = [torch.cuda.Stream() for _ in range(2)]
        out, current = torch.empty_like(x), torch.cuda.current_stream()
        for source, target, stream in zip(x.chunk(2), out.chunk(2), self.streams, strict=True):
            stream.wait_stream(current)
            with torch.cuda.stream(stream):
                y = torch.tanh(source) * torch.sigmoid(source)
                torch.add(y, torch.exp(-source * source), out=target)
                y.record_stream(stream)
        for stream in self.streams:
            current.wait_stream(stream)
        return out
