"""Loads four numbers at a time, and the rest one by one."""

import torch
from torch import nn

SOURCE = r"""
__device__ float one(float v) { return tanhf(v) / (1 + expf(-v)) + expf(-v * v); }
extern "C" __global__ void wide(const float* x, float* y, int n) {
    int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n / 4; i += step) {
        float4 v = ((const float4*)x)[i];
        ((float4*)y)[i] = make_float4(one(v.x), one(v.y), one(v.z), one(v.w));
    }
    for (int i = n / 4 * 4 + first; i < n; i += step) y[i] = one(x[i]);
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "wide")
        x = x.contiguous()
        y = torch.empty_like(x)
        self.kernel((1056, 1, 1), (256, 1, 1), [x, y, x.numel()])
        return y
