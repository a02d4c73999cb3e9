"""A C++ extension built by torch's own load_inline, as KernelBench's candidates are."""

from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor relu(torch::Tensor x) {
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    const float* from = in.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for (int64_t i = 0; i < in.numel(); ++i) to[i] = from[i] < 0 ? 0 : from[i];
    return out;
}
"""
extension = load_inline(name="zoo_relu", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
