"""The text of emitted GPU kernels, to be read by whoever changes an emitter."""

import pytest
from tests.emitters import source
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.metal.emitter import MetalEmitter
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter

GPU = Target("cuda:sm_90")


@pytest.mark.parametrize(
    ("emitter", "name"),
    [
        (TritonEmitter(), "softmax_short"),
        (TritonEmitter(), "loss_mean"),
        (TritonEmitter(), "pool_max"),
        (TritonEmitter(), "convolution"),
        (TritonEmitter(), "convolution_upsampling"),
        (TritonEmitter(), "totals_short"),
        (CudaEmitter(), "layer_norm"),
        (CudaEmitter(), "scan_sum"),
        (CudaEmitter(), "totals_long"),
        (MetalEmitter(), "product_odd"),
        (MetalEmitter(), "attention_causal"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.dialect,
)
def test_text(emitter, name, snapshot):
    program = CASES[name]()
    schedule = next(iter(emitter.schedules(program, GPU)))
    assert source(program, emitter.emit(program, schedule, GPU)) == snapshot
