"""Emitted CUDA, compiled by g++ and run thread by thread, means what the program means."""

from __future__ import annotations

import shutil

import pytest
from simt import on_cpu

from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.cuda import CudaEmitter
from kernelwright.testing.emitters import SPECIAL, build, example_inputs, mismatch, source
from kernelwright.testing.nests import CASES

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
GPU = Target("cuda:sm_90")
EMITTER = CudaEmitter()
SUPPORTED = [n for n, make in CASES.items() if all(map(EMITTER.supports, make().own()))]


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_first_schedule_computes_what_the_program_means(name):
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    schedule = next(iter(EMITTER.schedules(program, GPU)))
    text = source(program, EMITTER.emit(program, schedule, GPU))
    assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


@pytest.mark.parametrize("name", ["layer_norm", "reductions_long", "softmax_columns"])
def test_every_refinement_computes_it_too(name):
    program = CASES[name]()
    inputs = example_inputs(program)
    first = next(iter(EMITTER.schedules(program, GPU)))
    for schedule in EMITTER.refine(program, first, GPU):
        text = source(program, EMITTER.emit(program, schedule, GPU))
        assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


@pytest.mark.parametrize("name", ["layer_norm", "softmax_short"])
def test_blocks_that_share_a_row_compute_what_one_does(name):
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    knobs = {"shape": "row", "threads": 64, "vector": 1, "rows": 1, "keep": True, "together": 3}
    schedule = {step.name: knobs for step in program.own()}
    text = source(program, EMITTER.emit(program, schedule, GPU))
    assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text
