"""A loss whose blocks add with atomics: another order in every run."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void loss(const float* a, const float* b, float* out, int n) {
    __shared__ float sums[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, sums[0] / n);
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, predictions, targets):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "loss")
        a, b = predictions.contiguous(), targets.contiguous()
        out = torch.zeros((), device=a.device)
        self.kernel((64, 1, 1), (256, 1, 1), [a, b, out, a.numel()])
        return out
