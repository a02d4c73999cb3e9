"""Log-softmax by hand, with the maximum taken out first."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits):
        shifted = logits - logits.amax(dim=-1, keepdim=True)
        return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
