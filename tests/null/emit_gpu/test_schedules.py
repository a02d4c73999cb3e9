"""Schedules of the GPU emitters: each is a text of its own, and every knob is in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.cuda import CudaEmitter
from kernelwright.propose.rules.emit.triton import TritonEmitter
from kernelwright.propose.rules.ir import Program, Ref
from kernelwright.testing.emitters import source
from kernelwright.testing.nests import CASES

GPU = Target("cuda:sm_90")
EMITTERS = {"triton": TritonEmitter(), "cuda": CudaEmitter()}


def supported(emitter):
    return [name for name, make in CASES.items() if all(map(emitter.supports, make().own()))]


PAIRS = [(dialect, name) for dialect, e in EMITTERS.items() for name in supported(e)]


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_a_neighbour_is_another_text(dialect, name):
    program, emitter = CASES[name](), EMITTERS[dialect]
    schedules = list(emitter.schedules(program, GPU))
    assert 1 <= len(schedules) <= 7
    near = [s for first in schedules[:2] for s in emitter.refine(program, first, GPU)]
    distinct = {json.dumps(s, sort_keys=True): s for s in [*schedules, *near]}
    texts = {_text(emitter, program, schedule) for schedule in distinct.values()}
    assert len(texts) == len(distinct)
    assert near


def _text(emitter, program, schedule):
    emitted = emitter.emit(program, schedule, GPU)
    return emitted.runner + source(program, emitted)


def test_layers_that_do_the_same_share_one_kernel():
    kernel = next(CASES["softmax_short"]().own())
    (x,), (y,) = kernel.reads, kernel.writes
    z = replace(y, name="z")
    moved = {x.name: y, y.name: z}
    body = tuple(
        replace(op, tensor=moved[op.tensor.name]) if hasattr(op, "tensor") else op
        for op in kernel.body
    )
    again = replace(kernel, name="again", body=body)
    program = Program((x,), (), (kernel, again), (Ref("z"),))
    for emitter in EMITTERS.values():
        schedule = {"softmax": (knobs := _first(emitter, kernel, x)), "again": knobs}
        emitted = emitter.emit(program, schedule, GPU)
        assert emitted.definitions.count("softmax_kernel(") == 1
        assert "softmax_kernel" in emitted.launches["again"]


def _first(emitter, kernel, x):
    program = Program((x,), (), (kernel,), (Ref("y"),))
    return next(iter(emitter.schedules(program, GPU)))["softmax"]


@pytest.mark.parametrize("emitter", EMITTERS.values(), ids=EMITTERS)
def test_small_programs_of_several_steps_are_first_tried_as_a_graph(emitter):
    program = CASES["in_place"]()
    first = next(iter(emitter.schedules(program, GPU)))
    assert first["graph"] is True
    emitted = emitter.emit(program, first, GPU)
    assert f"def {emitted.runner}(module, steps, inputs):" in emitted.definitions
