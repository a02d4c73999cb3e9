"""Log-softmax over a vocabulary, of logits as spread out as those of a trained model."""

import torch
from torch import nn

SIZE = "cpu"
SIZES = {"small": (32, 1000), "cpu": (512, 8000), "gpu": (4096, 32000)}
TOKENS, VOCABULARY = SIZES[SIZE]


class Model(nn.Module):
    def forward(self, logits):
        return torch.log_softmax(logits, dim=-1)


def get_inputs():
    return [torch.randn(TOKENS, VOCABULARY) * 40.0]


def get_init_inputs():
    return []
