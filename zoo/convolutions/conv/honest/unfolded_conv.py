"""The convolution as a matrix product of unfolded windows."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        windows = functional.unfold(x, self.conv.kernel_size, padding=1)
        y = self.conv.weight.flatten(1) @ windows + self.conv.bias[:, None]
        return y.relu_().view(len(x), -1, *x.shape[2:])
