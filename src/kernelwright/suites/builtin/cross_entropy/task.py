"""Cross-entropy of a language model, where padded positions do not count."""

import torch
import torch.nn.functional as F
from torch import nn

SIZE = "cpu"
SIZES = {"small": (64, 500), "cpu": (1024, 8000), "gpu": (8192, 32000)}
TOKENS, VOCABULARY = SIZES[SIZE]
PADDING = -100


class Model(nn.Module):
    def forward(self, logits, targets):
        return F.cross_entropy(logits, targets, ignore_index=PADDING)


def get_inputs():
    targets = torch.randint(0, VOCABULARY, (TOKENS,))
    targets[torch.rand(TOKENS) < 0.2] = PADDING
    return [torch.randn(TOKENS, VOCABULARY) * 3.0, targets]


def get_init_inputs():
    return []
