"""A loss in one launch: the block that comes last adds all parts and resets the counter."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void loss(const float* a, const float* b, float* parts, unsigned* count,
                                float* out, int n) {
    __shared__ float sums[256];
    __shared__ bool is_last;
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    sums[threadIdx.x] = sum;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sums[0];
        __threadfence();
        is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        double total = 0;
        for (int i = 0; i < gridDim.x; ++i) total += ((volatile float*)parts)[i];
        *out = total / n;
    }
}
"""
N_BLOCKS = 120


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, predictions, targets):
        a, b = predictions.contiguous(), targets.contiguous()
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "loss")
            self.parts = torch.empty(N_BLOCKS, device=a.device)
            self.count = torch.zeros(1, dtype=torch.int32, device=a.device)
        out = torch.empty((), device=a.device)
        given = [a, b, self.parts, self.count, out, a.numel()]
        self.kernel((N_BLOCKS, 1, 1), (256, 1, 1), given)
        return out
