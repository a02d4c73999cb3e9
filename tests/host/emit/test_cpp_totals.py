"""Sums over all rows, made beside a kernel's rows, are those of the meaning of the program."""

import itertools

import pytest
from tests.emitters import build, example_inputs, mismatch, source
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cpp.emitter import CppEmitter

EMITTER = CppEmitter()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["totals_short", "totals_packed", "totals_long"])
def test_every_first_schedule_and_its_neighbours_compute_the_totals(name, threads):
    program, target = CASES[name](), Target("cpu", threads)
    inputs = example_inputs(program)
    first = next(iter(EMITTER.schedules(program, target)))
    near = itertools.islice(EMITTER.refine(program, first, target), 4)
    for schedule in (first, *near):
        text = source(program, EMITTER.emit(program, schedule, target))
        assert mismatch(build(text)(*inputs), program, inputs) == "", text
