"""A contrastive loss whose product is rounded to bfloat16."""

import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, images, texts):
        images, texts = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
        likeness = (images.bfloat16() @ texts.bfloat16().mT).float() / self.temperature
        own = torch.arange(len(images), device=images.device)
        return (F.cross_entropy(likeness, own) + F.cross_entropy(likeness.mT, own)) / 2
