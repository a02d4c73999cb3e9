"""Layer norm with one warp per row and shuffles for its sums."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void warp_norm(const float* x, const float* w, const float* b, float* y,
                                     int rows, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (long long)row * n;
    y += (long long)row * n;
    float sum = 0, squares = 0;
    for (int i = lane; i < n; i += 32) sum += x[i];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    float mean = sum / n;
    for (int i = lane; i < n; i += 32) squares += (x[i] - mean) * (x[i] - mean);
    for (int step = 16; step; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
    float root = rsqrtf(squares / n + 1e-5f);
    for (int i = lane; i < n; i += 32) y[i] = (x[i] - mean) * root * w[i] + b[i];
}
"""


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "warp_norm")
        x = x.contiguous()
        y, (rows, n) = torch.empty_like(x), x.shape
        weight, bias = self.norm.weight.detach(), self.norm.bias.detach()
        self.kernel(((rows + 3) // 4, 1, 1), (128, 1, 1), [x, weight, bias, y, rows, n])
        return y
