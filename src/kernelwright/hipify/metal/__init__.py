"""CUDA to Metal: kernels to MSL, and the C++ that starts them to Python on torch's tensors."""

from kernelwright.hipify.metal.candidate import metal_of_cuda, metal_of_python

__all__ = ["metal_of_cuda", "metal_of_python"]
