"""The convolution by Winograd's minimal filtering, F(2 x 2, 3 x 3), in float32."""

import torch
from torch import nn
from torch.nn import functional

INPUT = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
KERNEL = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
OUTPUT = ((1, 1, 1, 0), (0, 1, -1, -1))


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, width):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, width, padding=1)

    def forward(self, x):
        b, g, a = (torch.tensor(rows, device=x.device).float() for rows in (INPUT, KERNEL, OUTPUT))
        height, width = x.shape[-2:]
        padded = functional.pad(x, (1, 1 + width % 2, 1, 1 + height % 2))
        tiles = padded.unfold(2, 4, 2).unfold(3, 4, 2)
        data = torch.einsum("ij,nchwjk,lk->nchwil", b, tiles, b)
        kernel = torch.einsum("ij,ocjk,lk->ocil", g, self.conv.weight, g)
        product = torch.einsum("nchwil,ocil->nohwil", data, kernel)
        y = torch.einsum("ij,nohwjk,lk->nohiwl", a, product, a)
        y = y.reshape(*y.shape[:2], y.shape[2] * 2, -1)[..., :height, :width]
        return torch.relu(y + self.conv.bias[:, None, None])
