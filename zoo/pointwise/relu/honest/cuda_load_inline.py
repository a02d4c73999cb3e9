"""A CUDA extension built by torch's own load_inline, as KernelBench's candidates are."""

from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor relu(torch::Tensor x);"
CUDA = r"""
#include <ATen/cuda/CUDAContext.h>
__global__ void positive(const float* x, float* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0 ? 0 : x[i];
}
torch::Tensor relu(torch::Tensor x) {
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    int64_t n = in.numel();
    positive<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        in.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
extension = load_inline(
    name="zoo_cuda_relu", cpp_sources=CPP, cuda_sources=CUDA, functions=["relu"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
