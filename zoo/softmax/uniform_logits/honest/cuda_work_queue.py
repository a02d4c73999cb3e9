"""Blocks that stay and take rows from a counter, which is set to zero before each launch."""

import torch
from torch import nn

SOURCE = r"""
extern "C" __global__ void rows_of(const float* x, float* y, int* next, int rows, int n) {
    __shared__ int row;
    __shared__ float shared[256];
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) row = atomicAdd(next, 1);
        __syncthreads();
        if (row >= rows) return;
        const float* in = x + (long long)row * n;
        float* out = y + (long long)row * n;
        float most = __int_as_float(0xff800000), sum = 0;
        for (int i = threadIdx.x; i < n; i += 256) most = fmaxf(most, in[i]);
        shared[threadIdx.x] = most;
        for (int half = 128; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half)
                shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        }
        __syncthreads();
        most = shared[0];
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += 256) sum += out[i] = expf(in[i] - most);
        shared[threadIdx.x] = sum;
        for (int half = 128; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += 256) out[i] /= shared[0];
    }
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = None

    def forward(self, x):
        if self.kernel is None:
            self.kernel = torch.cuda._compile_kernel(SOURCE, "rows_of")
        x = x.contiguous()
        y = torch.empty_like(x)
        count = torch.zeros(1, dtype=torch.int32, device=x.device)
        self.kernel((264, 1, 1), (256, 1, 1), [x, y, count, *x.shape])
        return y
