"""Emitted MSL, run on the emulation, means what the program means."""

from __future__ import annotations

import pytest
import torch
from tests.emitters import SPECIAL, build, example_inputs, mismatch, source
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.metal.emitter import MetalEmitter
from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))
APPLE = Target("metal:emulated")
EMITTER = MetalEmitter()
SUPPORTED = [n for n, make in CASES.items() if all(map(EMITTER.supports, make().own()))]


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.mps, "compile_shader", compile_shader)


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_first_schedule_computes_what_the_program_means(name: str) -> None:
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    schedule = next(iter(EMITTER.schedules(program, APPLE)))
    text = source(program, EMITTER.emit(program, schedule, APPLE))
    assert mismatch(build(text)(*inputs), program, inputs) == "", text


@pytest.mark.parametrize("name", ["layer_norm", "reductions_long", "softmax_columns"])
def test_every_other_schedule_computes_it_too(name: str) -> None:
    program = CASES[name]()
    inputs = example_inputs(program)
    for schedule in EMITTER.schedules(program, APPLE):
        text = source(program, EMITTER.emit(program, schedule, APPLE))
        assert mismatch(build(text)(*inputs), program, inputs) == "", text
