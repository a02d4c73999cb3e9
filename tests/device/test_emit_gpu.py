"""Emitted Triton and CUDA, built and run on an NVIDIA GPU, mean what the programs mean."""

from __future__ import annotations

import copy
import gc

import pytest
import torch
from tests.emitters import (
    SPECIAL,
    TF32_UNIT,
    build,
    example_inputs,
    is_rounded,
    mismatch,
    source,
    with_small_blocks,
)
from tests.host.compiler import test_weight_changes as weight_changes
from tests.nests import CASES, product
from tests.null.compiler import test_folded_columns as folded_columns
from tests.null.compiler.test_joins import Dense
from torch import nn

import kernelwright as kw
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load, open_reference
from kernelwright.proposers.rules import RulesProposer
from kernelwright.proposers.rules.proposer import OpenedTask
from kernelwright.proposers.rules.variants import variants

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
GPU = Target("cuda")


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return torch.softmax(self.second(torch.tanh(self.first(x))), dim=-1)


class Normalized(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(16, 32), nn.BatchNorm1d(32)

    def forward(self, x):
        return torch.relu(self.norm(self.first(x)))


class Unweighted(nn.Module):
    def forward(self, x):
        return torch.softmax(x.sin(), -1).sum(0).softmax(-1)


EMITTERS = {"triton": TritonEmitter, "cuda": CudaEmitter}


def run(program, text, inputs):
    outputs = build(text)(*(value.cuda() for value in inputs))
    torch.cuda.synchronize()
    return outputs


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dialect", EMITTERS)
def test_every_program_computes_what_it_means(dialect, name):
    program, emitter = CASES[name](), EMITTERS[dialect]()
    if not all(emitter.supports(step) for step in program.own()):
        pytest.skip(f"{dialect} leaves {name} to PyTorch")
    inputs = example_inputs(program, special=name in SPECIAL)
    schedules = list(emitter.schedules(program, GPU))
    assert schedules
    if dialect == "triton":  # its compiler is slow: the best, and one where every loop runs
        schedules = [schedules[0], with_small_blocks(schedules[-1])]
    for schedule in schedules:
        text = source(program, emitter.emit(program, schedule, GPU))
        unit = 2 * TF32_UNIT if is_rounded(schedule) else None
        seen = run(program, text, inputs)
        assert mismatch(seen, program, inputs, unit=unit) == "", (schedule, text)


@pytest.mark.parametrize("name", ["convolution_side_by_side", "convolution_transposed"])
@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e9])
def test_a_convolution_of_shifted_rows_is_as_exact_as_tf32_at_any_size(name, factor):
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs descriptors")
    program, emitter = CASES[name](), TritonEmitter()
    found = [
        schedule
        for schedule in emitter.schedules(program, Target("cuda:sm_90"))
        if schedule["conv"]["layout"] == "shifted"
    ]
    assert found
    # All but the weight: a bias of its own size would hide the sums.
    inputs = [v if n == 1 else v * factor for n, v in enumerate(example_inputs(program))]
    for schedule in found:
        text = source(program, emitter.emit(program, schedule, GPU))
        seen = run(program, text, inputs)
        assert mismatch(seen, program, inputs, unit=2 * TF32_UNIT) == "", (schedule, text)


THREE, TWO = {"precision": "bf16x3_6"}, {"precision": "fp16x2_3"}
IN_PARTS = (
    {**THREE, "split": "before", "descriptors": False},
    {**THREE, "split": "inside", "descriptors": False},
    {**THREE, "split": "before", "descriptors": True},
    {**TWO, "split": "before", "descriptors": False},
    {**TWO, "split": "before", "descriptors": True},
)


@pytest.mark.parametrize("place", IN_PARTS)
def test_infinities_and_nan_spoil_what_they_touch_and_nothing_else(place):
    program, emitter = product(200, 300, 500), TritonEmitter()
    a, b, bias = (value.cuda() for value in example_inputs(program))
    a[3, 5], a[70, 6], a[150, 7], b[9, 100] = (float(x) for x in ("inf", "-inf", "nan", "inf"))
    a[120, :] = 0
    a[120, 8], b[:, 8] = 3.4e38, 1e-3  # rounds up to infinity in bfloat16
    (seen,) = multiplied_in(place, program, emitter)(a, b, bias)
    wanted = torch.relu(a @ b.T + bias)
    largest = wanted.where(wanted.isfinite(), 0).amax(-1, keepdim=True)  # of each row
    assert torch.equal(seen.isnan(), wanted.isnan())
    assert torch.equal(seen.isinf(), wanted.isinf())
    torch.testing.assert_close(
        (seen / largest).nan_to_num(0, 0, 0), (wanted / largest).nan_to_num(0, 0, 0),
        rtol=0, atol=16 * torch.finfo(torch.float32).eps,
    )  # fmt: skip


def multiplied_in(way, program, emitter):
    """The module under a schedule in parts, those of ``way`` if there is one, changed to it."""
    found = [s["linear"] for s in emitter.schedules(program, GPU) if "split" in s["linear"]]
    found.sort(key=lambda knobs: knobs["precision"] != way["precision"])
    schedule = {"linear": {**found[0], **way}}
    return build(source(program, emitter.emit(program, schedule, GPU)))


@pytest.mark.parametrize("way", IN_PARTS, ids=str)
def test_a_float32_product_is_as_exact_as_cublas(way):
    program, emitter = product(1024, 768, 2048), TritonEmitter()
    inputs = [value.cuda() for value in example_inputs(program)]
    a, b, bias = inputs
    exact = torch.relu(a.double() @ b.double().T + bias.double())
    cublas = (torch.relu(a @ b.T + bias) - exact).abs().max()
    (seen,) = multiplied_in(way, program, emitter)(*inputs)
    assert (seen - exact).abs().max() <= 1.5 * cublas


@pytest.mark.parametrize("way", IN_PARTS, ids=str)
def test_scales_that_cancel_along_k_cost_no_precision(way):
    """Columns of a are up to 10^8 apart, and rows of b just as far the other way round."""
    program, emitter = product(256, 192, 1024), TritonEmitter()
    a, b, bias = (value.cuda() for value in example_inputs(program))
    by = 10.0 ** (8 * torch.rand(a.shape[1], device="cuda") - 4)
    a, b = a * by, b / by
    exact = torch.relu(a.double() @ b.double().T + bias.double())
    cublas = (torch.relu(a @ b.T + bias) - exact).abs().max()
    (seen,) = multiplied_in(way, program, emitter)(a, b, bias)
    assert (seen - exact).abs().max() <= 1.5 * cublas


def graph_text(task, dialect):
    """The file of a candidate that runs as a CUDA graph."""
    opened = OpenedTask(Brief(task, Device.parse("cuda"), (dialect,)))
    variant, emitter = variants("cuda")[0], EMITTERS[dialect]()
    program = opened.program(variant, emitter)
    schedule = {**next(iter(emitter.schedules(program, GPU))), "graph": True}
    return opened.proposal(variant, emitter, schedule).candidate.source


def as_graph(kind, dialect):
    """A module as a CUDA graph, and the module itself, with the same weights."""
    text = graph_text(load(kind(), inputs=[torch.randn(8, 16)]), dialect)
    module, reference = build(text, "ModelNew")().cuda(), kind().cuda()
    module.load_state_dict(reference.state_dict())
    return module, reference


@pytest.mark.parametrize("dialect", EMITTERS)
def test_a_graph_updates_buffers_once_a_call(dialect):
    module, reference = as_graph(Normalized, dialect)
    with torch.no_grad():
        for x in torch.randn(3, 8, 16, device="cuda"):
            torch.testing.assert_close(module(x), reference(x), rtol=1e-4, atol=1e-4)
            for seen, wanted in zip(module.buffers(), reference.buffers(), strict=True):
                torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dialect", EMITTERS)
def test_a_graph_sees_new_inputs_and_new_weights_and_hands_out_its_own_memory_never(dialect):
    module, reference = as_graph(TwoLayers, dialect)
    with torch.no_grad():
        x, y = torch.randn(2, 8, 16, device="cuda")
        first = module(x)
        torch.testing.assert_close(first, reference(x))
        kept = first.clone()
        torch.testing.assert_close(module(y), reference(y))
        assert torch.equal(first, kept)
        for parameter in (*module.parameters(), *reference.parameters()):
            parameter.mul_(0.5)
        torch.testing.assert_close(module(x), reference(x))
        assert not torch.equal(module(x), kept)


@pytest.mark.parametrize("dialect", EMITTERS)
def test_a_graph_may_read_no_weights(dialect):
    module, reference = as_graph(Unweighted, dialect)
    with torch.no_grad():
        for x in torch.randn(3, 8, 16, device="cuda"):
            torch.testing.assert_close(module(x), reference(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", folded_columns.CASES)
def test_a_convolution_reduces_its_channels_in_its_tiles(name):
    (program, inputs), emitter = folded_columns.with_weights(name), TritonEmitter()
    for schedule in emitter.schedules(program, GPU):
        text = source(program, emitter.emit(program, schedule, GPU))
        unit = 8 * TF32_UNIT if is_rounded(schedule) else None
        assert mismatch(run(program, text, inputs), program, inputs, unit=unit) == "", schedule


@pytest.mark.parametrize("way", [way.name for way in variants("cuda")][:7])
@pytest.mark.parametrize("dialect", EMITTERS)
def test_parts_of_a_concatenation_are_computed_in_place_in_a_graph(dialect, way):
    x, reference = torch.randn(4, 16, 12, 10, device="cuda"), Dense().cuda()
    opened = OpenedTask(Brief(load(Dense(), inputs=[x.cpu()]), Device.parse("cuda"), (dialect,)))
    variant, emitter = next(v for v in variants("cuda") if v.name == way), EMITTERS[dialect]()
    schedule = next(iter(emitter.schedules(opened.program(variant, emitter), GPU)))
    for graph in ({}, {"graph": True}):
        made = opened.proposal(variant, emitter, {**schedule, **graph}).candidate.source
        module = build(made, "ModelNew")().cuda()
        module.load_state_dict(reference.state_dict())
        with torch.no_grad():
            assert not module.why_not(x)
            for given in (x, torch.randn_like(x)):
                wanted = copy.deepcopy(reference)(given)
                torch.testing.assert_close(module(given), wanted, rtol=5e-3, atol=5e-3)


@pytest.fixture(scope="module", params=EMITTERS)
def held(request):
    """What makes a candidate that is replayed as a graph, and the reference."""
    text = graph_text(weight_changes.TASK, request.param)
    assert "begun(MODULES" in text
    kind = build(text, "ModelNew")

    def made():
        module = open_reference(weight_changes.TASK).build(0).cuda()
        candidate = kind().cuda()
        candidate.load_state_dict(module.state_dict())
        candidate.on_miss = "silent"
        return candidate, module

    return made


def elsewhere(module):
    """To the CPU and back: what is read lies elsewhere, or where something else lay."""
    module.cpu()
    weight_changes.doubled(module)
    module.cuda()


MOVES = {"to the CPU and back": elsewhere, "to the GPU": nn.Module.cuda}


@pytest.mark.parametrize("name", [*weight_changes.CHANGES, *MOVES])
def test_after_a_change_the_next_call_of_a_graph_is_right(held, name, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    change = (weight_changes.CHANGES | MOVES)[name]
    weight_changes.check_change(*held(), change, "cuda")


@pytest.mark.parametrize("name", weight_changes.INPUTS)
def test_other_inputs_and_contexts_of_a_graph_are_right(held, name, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    weight_changes.check_calls(*held(), name, "cuda")


def test_nothing_is_collected_during_a_capture(held):
    """An older graph among the garbage would be destroyed, which ends a capture with an error."""
    candidate, module = held()
    inputs = [value.cuda() for value in open_reference(weight_changes.TASK).inputs(0)]
    capturing = []

    def note(phase, info):
        capturing.append(torch.cuda.is_current_stream_capturing())

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        with torch.no_grad():
            for _ in range(3):
                weight_changes.compare(candidate, module, *inputs)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
    assert capturing and not any(capturing) and gc.isenabled()


def test_a_graph_that_has_begun_is_dropped_where_the_module_is_another(held):
    """The GPU works while the CPU looks: what it makes of old weights is never seen."""
    candidate, module = held()
    inputs = [value.cuda() for value in open_reference(weight_changes.TASK).inputs(0)]
    with torch.no_grad():
        for _ in range(3):
            weight_changes.compare(candidate, module, *inputs)
        for name in ("in place", "data exchanged", "a hook"):
            for target in (candidate, module):
                torch.manual_seed(1)
                weight_changes.CHANGES[name](target)
            weight_changes.compare(candidate, module, *inputs)


def test_wide_loads_take_tensors_that_are_not_aligned():
    program, emitter = CASES["softmax_long"](), CudaEmitter()
    (x,) = example_inputs(program)
    shifted = torch.empty(x.numel() + 1, device="cuda")[1:].view(x.shape).copy_(x)
    schedule = next(iter(emitter.schedules(program, GPU)))
    text = source(program, emitter.emit(program, schedule, GPU))
    assert "aligned(x)" in text
    assert mismatch(build(text)(shifted), program, [x]) == ""


class Shares(nn.Module):
    """Rows, and sums over all of them: one kernel makes both."""

    def forward(self, x):
        shares = torch.softmax(x, -1)
        return shares, (shares * x).sum(0)


@pytest.mark.parametrize("dialect", EMITTERS)
def test_totals_are_of_as_many_rows_as_there_are(dialect, tmp_path):
    task = load(Shares(), inputs=[torch.randn(600, 96)])
    brief = Brief(task, Device.parse("cuda"), (dialect,), threads=2, budget_s=20.0)
    file = tmp_path / "kernels.py"
    file.write_text(next(iter(RulesProposer().propose(brief))).candidate.source)
    assert "_total_" in file.read_text()
    built = kw.build(file, on_miss="raise")
    with torch.no_grad():
        for n_rows in (600, 37, 1, 5000):
            x = torch.randn(n_rows, 96, device="cuda")
            for seen, wanted in zip(built(x), Shares()(x), strict=True):
                torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-4)
