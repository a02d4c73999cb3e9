"""It holds no row within the norm: after a call of the reference's all of them are.

task: words_within_a_norm
expect: wrong_values
devices: cpu|cuda
catalogue: C13
"""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.words = nn.Embedding(n_words, width)

    def forward(self, numbers):
        return self.words(numbers).sum(1)
