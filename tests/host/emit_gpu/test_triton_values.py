"""Emitted Triton, run by Triton's interpreter, means what the program means."""

from __future__ import annotations

import os

os.environ.setdefault("TRITON_INTERPRET", "1")

import pytest

pytest.importorskip("triton")

from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.triton import TritonEmitter
from kernelwright.testing.emitters import build, example_inputs, mismatch, source
from kernelwright.testing.nests import CASES

CPU = Target("cpu")


def with_small_blocks(schedule):
    """The same choices in blocks so small that every loop runs, more than once."""
    small = {"block": 32, "rows": 4, "block_m": 16, "block_n": 16, "block_k": 16}
    return {
        step: {name: min(value, small[name]) if name in small else value
               for name, value in knobs.items()}
        for step, knobs in schedule.items()
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_schedule_computes_what_the_program_means(name):
    program = CASES[name]()
    emitter = TritonEmitter()
    assert all(emitter.supports(step) for step in program.own())
    inputs = example_inputs(program)
    schedules = list(emitter.schedules(program, CPU))
    texts = [source(program, emitter.emit(program, s, CPU)) for s in schedules]
    assert len(set(texts)) == len(texts) > 0
    small = with_small_blocks(schedules[0])
    for text in {*texts, source(program, emitter.emit(program, small, CPU))}:
        assert mismatch(build(text)(*inputs), program, inputs) == "", text
