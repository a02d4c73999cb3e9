"""The chain as a kernel that the driver is asked to start, without torch's part of a launch."""

import ctypes

import torch
from torch import nn
from torch.cuda._utils import _nvrtc_compile

SOURCE = r"""
extern "C" __global__ void work(const float* x, float* y, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * 256ULL + threadIdx.x; i < n; i += gridDim.x * 256ULL)
        y[i] = tanhf(x[i]) / (1 + expf(-x[i])) + expf(-x[i] * x[i]);
}
"""
driver = ctypes.CDLL("libcuda.so.1")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.function = None

    def first(self, device):
        """Load the kernel into the context that torch has made current."""
        code, name = _nvrtc_compile(SOURCE, "work")
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        torch.cuda.synchronize(device)
        assert driver.cuModuleLoadData(ctypes.byref(module), code) == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
        self.function = function

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        if self.function is None:
            self.first(x.device)
        told = [ctypes.c_void_p(t.data_ptr()) for t in (x, y)] + [ctypes.c_ulonglong(x.numel())]
        arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(one) for one in told))
        shape = (1056, 1, 1, 256, 1, 1)
        assert driver.cuLaunchKernel(self.function, *shape, 0, None, arguments, None) == 0
        return y
