"""Tensors whose memory wide loads cannot read are copied with the strides that kernels count on."""

import pytest
import torch

from kernelwright.compiler.codegen.cuda.loader import LOADER
from kernelwright.compiler.codegen.metal.emitter import _LOADER as METAL_LOADER


@pytest.mark.parametrize("text", [LOADER, METAL_LOADER], ids=["cuda", "metal"])
def test_a_copy_has_the_strides_of_the_tensor(text):
    names = {"torch": torch, "ctypes": None}
    exec(text, names)
    memory = torch.arange(64.0)
    for given in (memory[1:].as_strided((2, 3), (8, 1)), memory[1:4].expand(2, 3)):
        own = names["aligned"](given)
        assert own.data_ptr() % 16 == 0 and own.stride() == given.stride()
        assert torch.equal(own, given)
    assert names["aligned"](memory) is memory
