"""The chain as one CUDA kernel, compiled through NVRTC."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void chain(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        y[i] = tanhf(v) / (1 + expf(-v)) + expf(-v * v);
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "chain")
        x = x.contiguous()
        y = torch.empty_like(x)
        self.kernel((1056, 1, 1), (512, 1, 1), [x, y, x.numel()])
        return y
