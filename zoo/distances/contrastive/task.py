"""A contrastive loss: each row of one argument is to be nearest to its own of the other."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, images, texts):
        images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
        likeness = images @ texts.mT / self.temperature
        own = torch.arange(len(images), device=images.device)
        return (F.cross_entropy(likeness, own) + F.cross_entropy(likeness.mT, own)) / 2


def get_inputs():
    return [torch.randn(2048, 512), torch.randn(2048, 512)]


def get_init_inputs():
    return [0.07]
