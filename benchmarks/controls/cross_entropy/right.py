"""Log-sum-exp less the chosen logit, over the positions that count."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        counts = targets != -100
        chosen = logits.gather(1, targets.clamp_min(0)[:, None])[:, 0]
        losses = (torch.logsumexp(logits, dim=1) - chosen) * counts
        return losses.sum() / counts.sum()
