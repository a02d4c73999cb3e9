"""Concatenations whose parts are computed in place mean what the module's mean."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.gpu.moments import with_moments
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Contraction, Kernel, Program, Reduce
from kernelwright.compiler.rewrite import rewrite
from kernelwright.compiler.rewrite.dense import LEAST_BYTES
from kernelwright.proposers.rules.variants import Variant, variants

OWN, LIBRARY, LAST = "fused, own matmul", "fused", "fused, channels last"
NARROW = "fused, channels last, narrow convolutions"
WAYS = {way.name: way for way in variants("cuda") if way.name in (OWN, LIBRARY, LAST, NARROW)}


class Dense(nn.Module):
    """The block of a dense network: each layer reads all that the layers before have made."""

    def __init__(self, n_layers: int = 5, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(16 + width * number),
                nn.ReLU(),
                nn.Conv2d(16 + width * number, width, 3, padding=1, bias=False),
                nn.Dropout(0.0),
            )
            for number in range(n_layers)
        )

    def forward(self, x):
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)) if len(found) > 1 else layer(x))
        return torch.cat(found, 1)


class Growing(nn.Module):
    """The same, and the sum of each concatenation; each is made of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(8, 4, 1)

    def forward(self, x):
        one = torch.cat([x, self.first(x)], 1)
        two = torch.cat([one, self.second(one.tanh())], 1)
        return two.relu(), one.sum((2, 3))


class Fire(nn.Module):
    """SqueezeNet's: two convolutions side by side, and one that reads both."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Conv2d(8, 16, 1), nn.Conv2d(8, 16, 3, padding=1)
        self.squeeze = nn.Conv2d(32, 8, 1)

    def forward(self, x):
        return self.squeeze(torch.cat([self.one(x).relu(), self.other(x).relu()], 1)).relu()


class Returned(nn.Module):
    """A part, and a concatenation that another begins with, are results as well."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(8, 4, 1)

    def forward(self, x):
        part = self.first(x).relu()
        one = torch.cat([x, part], 1)
        last = self.second(one.tanh())
        return torch.cat([x, part, last, last], 1), part, one


class Flat(nn.Module):
    """Rows one below another, of which the first are overwritten by nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x)
        one = torch.cat([x, y.exp()], 0)
        return torch.cat([x, y.exp(), self.linear(one[:3]).tanh()], 0).sum(1), one.mean(0), y.exp()


IMAGE = torch.randn(2, 16, 9, 8)
CASES = {
    "dense": (Dense(), IMAGE),
    "growing": (Growing(), IMAGE[:, :4]),
    "fire": (Fire(), IMAGE[:, :8]),
    "returned": (Returned(), IMAGE[:, :4].clone()),
    "flat": (Flat(), torch.randn(4, 8)),
}


def program_of(
    module: nn.Module, x: torch.Tensor, way: Variant, least_bytes: int = LEAST_BYTES
) -> Program:
    captured, _ = rewrite(capture(module, [x]), way.rules, least_bytes=least_bytes)
    finish = with_moments if way.fusion.moments else None
    supports = TritonEmitter().supports
    return assemble_supported(captured, way.fusion, supports, products=way.products, finish=finish)


def calls(program: Program) -> list[str]:
    return [step.target.split(".")[3] for step in program.steps if isinstance(step, Call)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("last", [False, True], ids=["", "channels last"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_parts_in_place_change_no_result(name, way, last, training):
    module, x = CASES[name]
    module.train(training)
    if last and x.dim() == 4:
        x = x.contiguous(memory_format=torch.channels_last)
    program = program_of(module, x, WAYS[way])
    state = {path: value.clone() for path, value in module.state_dict().items()}
    with torch.no_grad():
        seen, wanted = interpret(program, [x], state), module(x)
    torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-4, check_stride=True)


@pytest.mark.parametrize("way", WAYS)
def test_a_dense_block_concatenates_nothing_twice(way):
    program = program_of(CASES["dense"][0].train(), IMAGE, WAYS[way])
    assert "cat" not in calls(program)
    assert calls(program).count("empty_strided") == (1 if way in (OWN, LIBRARY) else 2)


def test_own_convolutions_write_into_the_concatenation():
    program = program_of(CASES["dense"][0].train(), IMAGE, WAYS[OWN])
    made = [step for step in program.steps if isinstance(step, Contraction)]
    assert len(made) == 5
    assert all(step.writes[0].strides == (56 * 72, 72, 8, 1) for step in made)


def test_a_single_concatenation_stays_where_nothing_is_saved():
    module, x = CASES["fire"]
    assert "empty_strided" not in calls(program_of(module, x, WAYS[LIBRARY]))
    assert "empty_strided" in calls(program_of(module, x, WAYS[OWN]))


def test_results_share_no_memory():
    module, x = CASES["returned"]
    program = program_of(module, x, WAYS[OWN])
    with torch.no_grad():
        results = interpret(program, [x], dict(module.state_dict()))
    places = {result.untyped_storage().data_ptr() for result in results}
    assert len(places) == len(results)


def test_no_kernel_overwrites_a_part():
    program = program_of(CASES["growing"][0], CASES["growing"][1], WAYS[OWN])
    written: list[str] = []
    for step in program.steps:
        written += [t.name for t in step.writes] if isinstance(step, (Kernel, Contraction)) else []
    assert len(written) == len(set(written))


def test_parts_that_would_begin_between_packs_of_numbers_are_joined_by_the_library():
    module, x = Dense(5, width=3), torch.randn(2, 16, 7, 7)
    program = program_of(module, x, WAYS[LIBRARY])
    assert "cat" in calls(program) and "empty_strided" not in calls(program)


def reduced(program: Program) -> list[int]:
    """The numbers of values that are added up, over all kernels."""
    return [
        math.prod(axis.size for axis in (*step.outer, *step.inner))
        for step in program.own()
        if isinstance(step, Kernel) and any(isinstance(op, Reduce) for op in step.body)
    ]


@pytest.mark.parametrize("way", WAYS)
def test_a_part_is_reduced_once_for_all_norms_that_have_it(way):
    module = Dense(4, width=16).train()
    x = torch.randn(2, 16, 30, 28)
    program = program_of(module, x, WAYS[way], least_bytes=0)
    state = {path: value.clone() for path, value in module.state_dict().items()}
    with torch.no_grad():
        seen, wanted = interpret(program, [x], state), module(x)
    torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-4)
    for path, value in module.state_dict().items():
        torch.testing.assert_close(state[path], value, rtol=1e-4, atol=1e-5, msg=path)
    assert max(reduced(program)) == x.numel()


def test_norms_in_evaluation_have_their_own_statistics():
    module = Dense(4).eval()
    with torch.no_grad():
        program = program_of(module, IMAGE, WAYS[OWN], least_bytes=0)
        seen = interpret(program, [IMAGE], dict(module.state_dict()))
        torch.testing.assert_close(seen, module(IMAGE), rtol=1e-4, atol=1e-4)
