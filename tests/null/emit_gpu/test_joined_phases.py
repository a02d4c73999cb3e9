"""Programs that have both phases of a transposed convolution are offered where they store rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.nests import CASES

from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.triton.convolution_schedule import (
    convolution_choices,
    convolution_neighbours,
)
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.codegen.triton.grid import side_by_side
from kernelwright.compiler.ir.ir import Affine, Contraction, Store


def step_of(name: str) -> Contraction:
    (step,) = (s for s in CASES[name]().own() if isinstance(s, Contraction))
    return step


def with_last(step: Contraction, **changes: int) -> Contraction:
    *others, last = step.stretches
    return replace(step, stretches=(*others, replace(last, **changes)))


def channels_last(step: Contraction) -> Contraction:
    *others, store = step.body
    assert isinstance(store, Store)
    index = Affine.of({"n": 2560, "y": 320, "x": 20, "o": 1})
    return replace(step, body=(*others, replace(store, index=index)))


@pytest.mark.parametrize("descriptors", [False, True])
def test_joined_phases_come_first_and_can_be_compared(descriptors):
    step = step_of("convolution_upsampling")
    choices = convolution_choices(step, descriptors=descriptors)
    assert [knobs["phases"] for knobs in choices[:2]] == ["joined", "apart"]
    near = [knobs["phases"] for knobs in convolution_neighbours(step, choices[0])]
    assert "apart" in near


@pytest.mark.parametrize("change", [channels_last, lambda step: with_last(step, stride=4)])
def test_other_results_and_strides_keep_one_phase(change):
    step = change(step_of("convolution_upsampling"))
    assert side_by_side(step) is None
    assert all("phases" not in knobs for knobs in convolution_choices(step))


def test_odd_sizes_are_joined_too():
    assert side_by_side(step_of("convolution_transposed_deep")) is not None


def test_a_program_has_as_many_results_as_one_phase_had():
    program = CASES["convolution_upsampling"]()
    emitter, target = TritonEmitter(), Target("cuda:sm_90")
    joined, apart = ({"conv": {**next(iter(emitter.schedules(program, target)))["conv"],
                               "block_m": rows, "phases": phases}}
                     for rows, phases in ((16, "joined"), (32, "apart")))  # fmt: skip
    texts = [emitter.emit(program, schedule, target).launches for schedule in (joined, apart)]
    assert "conv_kernel[(8,)]" in str(texts[0])
    assert "conv_kernel[(8,)]" in str(texts[1])
