"""Proposed files, run: they compute what the task does, and stay right when used otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.device import BUILT_TOGETHER, Device
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.task import Task
from kernelwright.loaders import load, open_reference
from kernelwright.proposers.emitted import MARK
from kernelwright.proposers.rules import RulesProposer

NORMED = '''
import torch
from torch import nn

SLOPE = 0.1


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3 * width)  # three times as wide
        self.norm = nn.BatchNorm1d(3 * width)

    def forward(self, x):
        return self.norm(self.linear(x))


class Model(nn.Module):
    """A block and an activation."""

    def __init__(self, width):
        super(Model, self).__init__()
        self.blocks = nn.ModuleList([Block(width)])

    def forward(self, x, scale=None):
        y = nn.functional.leaky_relu(self.blocks[0](x), SLOPE)
        return y if scale is None else y * scale


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return [8]
'''
POOLED = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 12)

    def forward(self, x):
        return torch.relu(self.linear(x).sum(1, keepdim=True))


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
"""


RETURNED = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(96, 96))
        self.register_buffer("shift", torch.randn(96))

    def forward(self, x):
        turned = self.weight.t().contiguous()
        flat = torch.exp(self.shift).view(-1, 2).view(-1)
        y = torch.tanh(x)
        return y @ turned, turned, self.weight.clone(), flat, self.shift.clone(), y, y.clone()


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return []
"""
EMBEDDED = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 64)
        self.scale = nn.Parameter(torch.randn(1, 64, 4, 2))

    def forward(self, x):
        return torch.tanh(self.table(x)).sum(1)[:, :, None, None] * self.scale


def get_inputs():
    return [torch.randint(0, 100, (32, 8))]


def get_init_inputs():
    return []
"""
GATE = """
import torch


class Gate(torch.nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n))
        self.k = k

    def forward(self, x):
        return torch.sigmoid(x * self.weight) * self.k
"""


def task_of(tmp_path: Path, source: str) -> Task:
    path = tmp_path / "example.py"
    path.write_text(source)
    return load(str(path))


def proposals(task: Task, *dialects: str, exemplars: tuple[Exemplar, ...] = ()) -> list[Proposal]:
    brief = Brief(task, Device.parse("cpu"), dialects or ("cpp",), exemplars, threads=1)
    return list(RulesProposer().propose(brief))


def first_proposal(task: Task) -> Proposal | None:
    brief = Brief(task, Device.parse("cpu"), ("cpp",), (), threads=1)
    return next(iter(RulesProposer().propose(brief)), None)


def built(task: Task, proposal: Proposal) -> tuple[nn.Module, nn.Module]:
    """(the candidate with the reference's state, the reference)."""
    reference = open_reference(task)
    module = reference.build(0)
    namespace: dict[str, object] = {}
    exec(compile(proposal.candidate.source, "candidate.py", "exec"), namespace)
    candidate = namespace["ModelNew"](*reference.init_inputs(0))
    candidate.load_state_dict(module.state_dict())
    return candidate, module


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path_factory.getbasetemp()))


@torch.no_grad()
def test_a_candidate_updates_buffers_and_follows_other_weights(tmp_path) -> None:
    task = task_of(tmp_path, NORMED)
    candidate, module = built(task, proposals(task)[0])
    for _ in range(2):
        x = torch.randn(6, 8)
        torch.testing.assert_close(candidate(x), module(x))
        for name, value in module.state_dict().items():
            torch.testing.assert_close(candidate.state_dict()[name], value)
        for target in (candidate, module):
            target.load_state_dict({k: v + 1 for k, v in target.state_dict().items()})


@torch.no_grad()
def test_values_prepared_from_parameters_are_recomputed_when_parameters_change(tmp_path) -> None:
    task = task_of(tmp_path, POOLED)
    first = proposals(task)[0]
    assert "the sum over a linear map's outputs is one output" in first.lineage
    candidate, module = built(task, first)
    x = torch.randn(6, 8)
    torch.testing.assert_close(candidate(x), module(x))
    for target in (candidate, module):
        target.linear.weight.mul_(2.0)
    torch.testing.assert_close(candidate(x), module(x))
    for target in (candidate, module):
        target.linear.bias = nn.Parameter(torch.arange(12.0))
    torch.testing.assert_close(candidate(x), module(x))


@torch.no_grad()
def test_what_a_caller_writes_into_results_changes_no_later_call(tmp_path) -> None:
    task = task_of(tmp_path, RETURNED)
    candidate, module = built(task, proposals(task)[0])
    x, want = torch.randn(64, 96), []
    for _ in range(2):
        found = candidate(x)
        want = want or module(x)
        torch.testing.assert_close(found, want)
        for each in found:
            each.add_(1.0)
    torch.testing.assert_close(candidate.state_dict(), module.state_dict())


def test_uses_outside_the_kernels_conditions_run_the_reference_forward(tmp_path) -> None:
    task = task_of(tmp_path, NORMED)
    candidate, module = built(task, proposals(task)[0])
    x = torch.randn(6, 8, requires_grad=True)
    candidate(x).sum().backward()
    assert x.grad is not None
    module.load_state_dict(candidate.state_dict())
    with torch.no_grad():
        other = torch.randn(16, 3).T.reshape(3, 16)[:, ::2]
        torch.testing.assert_close(candidate(other), module(other))
        torch.testing.assert_close(candidate(x, 2.0), module(x, 2.0))
        torch.testing.assert_close(candidate.eval()(x), module.eval()(x))


@torch.no_grad()
def test_a_forward_may_call_its_module_as_it_likes(tmp_path) -> None:
    task = task_of(tmp_path, POOLED.replace("self", "this"))
    candidate, module = built(task, proposals(task)[0])
    x = torch.randn(6, 8)
    torch.testing.assert_close(candidate(x), module(x))
    torch.testing.assert_close(candidate(x[:3]), module(x[:3]))


@torch.no_grad()
@pytest.mark.parametrize(
    "form", [{"dtype": torch.float16}, {"memory_format": torch.channels_last}], ids=str
)
def test_weights_of_another_form_take_the_reference_forward(tmp_path, form) -> None:
    """Kernels would silently misread their numbers."""
    task = task_of(tmp_path, EMBEDDED)
    candidate, module = built(task, proposals(task)[0])
    x = torch.randint(0, 100, (32, 8))
    torch.testing.assert_close(candidate(x), module(x))
    assert torch.equal(candidate.to(**form)(x), module.to(**form)(x))
    back = {"dtype": torch.float32, "memory_format": torch.contiguous_format}
    torch.testing.assert_close(candidate.to(**back)(x), module.to(**back)(x))


def test_the_file_keeps_the_references_text(tmp_path) -> None:
    text = proposals(task_of(tmp_path, NORMED))[0].candidate.source
    assert "# three times as wide" in text
    assert "super(ModelNew, self).__init__()" in text
    assert "SLOPE = 0.1" in text and "get_inputs" not in text
    assert "kernelwright" not in text


@torch.no_grad()
@pytest.mark.parametrize(
    ("target", "inputs"),
    [
        (nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU()), [torch.randn(4, 8)]),
        (lambda x, y: (torch.softmax(x, -1) * y).sum(-1), [torch.randn(4, 8), torch.randn(4, 8)]),
    ],
    ids=["an instance", "a function"],
)
def test_tasks_without_source(target, inputs) -> None:
    task = load(target, inputs=inputs, name="example")
    proposal = proposals(task)[0]
    candidate, module = built(task, proposal)
    torch.testing.assert_close(candidate(*inputs), module(*inputs))
    assert "Every other use is refused." in " ".join(proposal.candidate.source.split())
    wanted = [x.clone().requires_grad_() for x in inputs]
    with torch.enable_grad(), pytest.raises(RuntimeError, match=r"(?s)without gradients .*no_grad"):
        candidate(*wanted)


@torch.no_grad()
def test_library_calls_alone_where_a_rule_changes_the_graph(tmp_path) -> None:
    plain, compiled = proposals(task_of(tmp_path, POOLED), "torch")
    candidate, module = built(task_of(tmp_path, POOLED), plain)
    x = torch.randn(6, 8)
    torch.testing.assert_close(candidate(x), module(x))
    assert "torch.compile" in compiled.candidate.source
    assert proposals(task_of(tmp_path, NORMED), "torch") == []


def judged(proposal: Proposal, status: Status, role: str) -> Exemplar:
    reasons = () if status is Status.PASSED else (Reason(ReasonCode.UNCLASSIFIED, "wrong"),)
    evaluation = Evaluation(
        "t", "w", proposal.candidate.digest, status, reasons, Environment("cpu", {}), 0, 1
    )
    return Exemplar(proposal, evaluation, role)


def test_the_same_brief_gives_the_same_proposals(tmp_path) -> None:
    task = task_of(tmp_path, NORMED)
    first = proposals(task)
    assert first == proposals(task)
    assert len({p.candidate.digest for p in first}) == len(first)


def test_a_passed_exemplar_is_refined_and_not_proposed_again(tmp_path) -> None:
    task = task_of(tmp_path, NORMED)
    (parent, *_) = proposals(task)
    later = proposals(task, exemplars=(judged(parent, Status.PASSED, "parent"),))
    # Behind the rest of how a first round begins.
    assert parent.candidate.digest in {p.parent for p in later[:BUILT_TOGETHER]}
    assert parent.candidate.digest not in {p.candidate.digest for p in later}


@pytest.mark.parametrize("dialect", ["cpp", "triton"])
def test_exemplars_from_older_rules_with_other_steps_are_not_refined(tmp_path, dialect) -> None:
    task = task_of(tmp_path, NORMED)
    (parent, *_) = proposals(task, dialect)
    older = replace(parent, schedule={**parent.schedule, "kernels": {"gone": {}}})
    later = proposals(task, dialect, exemplars=(judged(older, Status.PASSED, "parent"),))
    assert later and not [p for p in later if p.parent]


def test_a_variant_that_failed_is_left_alone(tmp_path) -> None:
    task = task_of(tmp_path, NORMED)
    (failed, *_) = proposals(task)
    later = proposals(task, exemplars=(judged(failed, Status.WRONG_VALUES, "failed"),))
    assert failed.schedule["variant"] not in {p.schedule["variant"] for p in later}


@torch.no_grad()
def test_around_a_graph_break_the_parts_are_fused(tmp_path) -> None:
    source = NORMED.replace("y if scale is None", "y if y.sum() > 0")
    first = proposals(task_of(tmp_path, source))[0]
    assert "class FusedBlocks0" in first.candidate.source
    candidate, module = built(task_of(tmp_path, source), first)
    assert type(candidate.blocks[0]).__name__ == "FusedBlocks0"
    for x in (torch.randn(6, 8), torch.randn(6, 8), torch.randn(3, 8)):
        torch.testing.assert_close(candidate(x), module(x))
    torch.testing.assert_close(candidate.state_dict(), module.state_dict())


def test_a_module_that_cannot_be_captured_gives_no_proposals(tmp_path) -> None:
    source = POOLED.replace("self.linear(x)", "(x if x.sum() > 0 else -x)")
    assert proposals(task_of(tmp_path, source)) == []


SUITE = ("attention", "conv_pool_epilogue", "cross_entropy", "cumulative_sum", "group_norm",
         "small_cnn", pytest.param("transformer_block", marks=pytest.mark.slow))  # fmt: skip
ONE_VARIANT = ("attention", "cumulative_sum")


@torch.no_grad()
@pytest.mark.parametrize("name", SUITE)
def test_every_variant_of_a_built_in_task_is_right(name: str, tmp_path) -> None:
    import kernelwright.suites.builtin

    text = (Path(kernelwright.suites.builtin.__file__).parent / name / "task.py").read_text()
    task = task_of(tmp_path, text.replace('SIZE = "cpu"', 'SIZE = "small"'))
    firsts = {p.schedule["variant"]: p for p in reversed(proposals(task))}
    assert len(firsts) >= (1 if name in ONE_VARIANT else 2), firsts
    inputs = open_reference(task).inputs(0)
    for proposal in firsts.values():
        candidate, module = built(task, proposal)
        torch.testing.assert_close(candidate(*inputs), module(*inputs), rtol=1e-4, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("head", ["n, k", "n, *, k"], ids=["by position", "by name"])
def test_a_class_of_a_package_is_constructed_with_its_arguments(
    tmp_path, monkeypatch, head
) -> None:
    package = tmp_path / f"gates{len(head)}"
    package.mkdir()
    (package / "layers.py").write_text(GATE.replace("n, k", head, 1))
    monkeypatch.syspath_prepend(tmp_path)
    init = {"n": 8, "k": 3.0}
    task = load(f"{package.name}.layers:Gate", inputs=["float32[4,8]"], init=init)
    candidate, module = built(task, proposals(task)[0])
    x = torch.randn(4, 8)
    torch.testing.assert_close(candidate(x), module(x))
    other = type(candidate)(16, 3.0)  # served by the class's own forward
    assert other(torch.randn(4, 16)).shape == (4, 16)


NORMED_IMAGE = """
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(2, 4) for _ in range(2))
        self.convs = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(2))
        self.linear = nn.Linear(3, 4)

    def forward(self, x, e):
        h = self.convs[0](F.silu(self.norms[0](x)))
        h = h + self.linear(F.silu(e))[:, :, None, None]
        return x + self.convs[1](F.silu(self.norms[1](h)))


def get_inputs():
    image = torch.randn(2, 4, 5, 6).to(memory_format=torch.channels_last)
    return [image, torch.randn(2, 3)]


def get_init_inputs():
    return []
"""


@torch.no_grad()
def test_convolutions_get_their_images_as_they_were_laid_out(tmp_path) -> None:
    """The layout of a convolution's result, which the next kernel reads, follows from it."""
    task = task_of(tmp_path, NORMED_IMAGE)
    inputs = open_reference(task).inputs(0)
    for proposal in {p.schedule["variant"]: p for p in proposals(task)}.values():
        candidate, module = built(task, proposal)
        torch.testing.assert_close(candidate(*inputs), module(*inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("last", ["", ".transpose(1, 2).contiguous().transpose(1, 2)"])
@torch.no_grad()
def test_results_have_the_memory_format_of_the_reference(tmp_path, last: str) -> None:
    source = GATE.replace("torch.randn(n)", "torch.randn(n, 1, 1)")
    source = source.replace("return torch", "y = torch").rstrip() + f"\n        return y{last}\n"
    source += """
def get_inputs():
    return [torch.randn(2, 6, 4, 5).to(memory_format=torch.channels_last)]

def get_init_inputs():
    return [6, 2.0]
"""
    task = Task("example", "folder", source, entry="Gate")
    for proposal in proposals(task):
        candidate, module = built(task, proposal)
        for n in (2, 1, 5):
            x = torch.randn(n, 6, 4, 5).to(memory_format=torch.channels_last)
            assert candidate.why_not(x) == ""
            result = candidate(x)
            torch.testing.assert_close(result, module(x))
            assert result.stride() == module(x).stride()


def test_what_older_emitters_wrote_is_written_anew_first(tmp_path) -> None:
    task = task_of(tmp_path, POOLED)
    brief = Brief(task, Device.parse("cpu"), ("cpp",))
    first, second, *_ = RulesProposer().propose(brief)
    older = {key: value for key, value in second.schedule.items() if key != MARK}
    stale = replace(second, schedule=older, candidate=replace(second.candidate, source="old"))
    shown = judged(stale, Status.PASSED, "better")
    again = replace(brief, elsewhere=((stale, shown.evaluation),))
    rewritten, following, *_ = RulesProposer().propose(again)
    assert rewritten.candidate == second.candidate
    assert rewritten.parent == stale.candidate.digest
    assert following.candidate == first.candidate
