"""Its own kernel has a name that many functions of torch's have, in other namespaces."""

from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <c10/cuda/CUDAStream.h>

__global__ void pool(const float* x, float* y, int height, int width, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    int column = i % width, row = i / width % height;
    const float* image = x + (i - row * width - column);
    float sum = 0;
    for (int r = max(row - 2, 0); r <= min(row + 2, height - 1); ++r)
        for (int c = max(column - 2, 0); c <= min(column + 2, width - 1); ++c)
            sum += image[r * width + c];
    y[i] = sum / 25;
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    auto stream = c10::cuda::getCurrentCUDAStream().stream();
    pool<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(2), x.size(3), n);
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.built = load_inline(
            name="called_pool",
            cpp_sources="torch::Tensor run(torch::Tensor x);",
            cuda_sources=SOURCE,
            functions=["run"],
        )

    def forward(self, x):
        return self.built.run(x.contiguous())
