"""A group of modules that fails costs the others nothing."""

from __future__ import annotations

import torch
from tests.null.models.test_profile import Net, X
from torch import nn

from kernelwright.core.errors import TaskError
from kernelwright.core.settings import Settings
from kernelwright.models.accelerate import Acceleration
from kernelwright.models.gate import Gate
from kernelwright.models.given import Given
from kernelwright.models.profile import example_of, profile
from kernelwright.models.swap import Swapped, take_out
from kernelwright.models.whole import WholeModel
from kernelwright.runtime.calls import PLAIN
from kernelwright.runtime.dispatch import forms_of


class Timed(WholeModel):
    """The whole model with times that are given."""

    given_ns: dict[str, list[int]]

    def make_plain(self):
        pass

    def time_all(self, kernels):
        return self.given_ns


class Unhurried(Acceleration):
    """Searches every module that can be searched."""

    def why_skipped(self, group, left_s):
        return ""


def accelerated(search=None) -> Acceleration:
    return Acceleration(Given(Net().eval(), X), Settings(device="cpu", budget_s=600.0), search)


def test_whatever_a_search_raises_fails_its_group_alone() -> None:
    raised = iter([
        ZeroDivisionError("division\nby zero"),
        TaskError("no task", seen="a lock"),
        *[AssertionError("the lowering is wrong")] * 9,
    ])  # fmt: skip

    def search(task, settings):
        raise next(raised)

    run = accelerated(search)
    groups = [group for group in profile(run.given) if group.kind in ("Layer", "LayerNorm")]
    groups[0].why_not = groups[1].why_not = ""
    groups[0].room = groups[1].room = 1.0
    steps = [run.tried(group, []) for group in groups]
    assert [step.outcome for step in steps] == ["failed", "failed"]
    assert [step.why for step in steps] == [
        "ZeroDivisionError: division by zero",
        "no task: a lock",
    ]


def test_whatever_a_kernel_raises_fails_its_group_alone() -> None:
    class Kernel(nn.LayerNorm):
        def forward(self, x):
            raise KeyError("x")

    run = accelerated()
    run.gate = Gate(run.given)
    (group,) = (group for group in profile(run.given) if group.kind == "LayerNorm")
    key = ("cpu", forms_of(example_of(run.given, group.paths[0])), (False,))
    kernels = {path: Swapped(group.call, {key: Kernel(16)}) for path in group.paths}
    step = run.measured(group, None, kernels)
    assert (step.outcome, step.why) == ("failed", "KeyError: 'x'")
    take_out(run.given.model, kernels)

    kernels = {path: Swapped(group.call, {key: nn.LayerNorm(16)}) for path in group.paths}
    step = run.measured(group, None, kernels)  # no form of the whole model was made
    assert step.outcome == "failed" and step.why


def test_a_form_that_is_made_at_last_is_not_named_as_one_that_is_missing() -> None:
    run = accelerated()
    run.whole.failed["kernels"] = "no kernel serves there"
    run.whole.made("eager", {"kernels": run.given.model})
    assert run.whole.failed == {}


def test_kernels_that_beat_one_graph_but_not_surely_the_library_are_taken_out() -> None:
    run = accelerated()
    run.whole = Timed(run.given, budget_s=1.0, clock_s=1.0)
    run.whole.given_ns = {
        "compile": [50, 200] * 8, "compile_graph": [110] * 16, "kernels_compile_graph": [100] * 16
    }  # fmt: skip
    run.found.kernels = {"layers.0.norm": Swapped(PLAIN, {})}
    run.measure()
    assert run.found.kernels == {} and run.found.speedup is None


def test_ctrl_c_ends_the_searches_and_what_was_found_is_measured() -> None:
    searched = []

    def search(task, settings):
        searched.append(task.name)
        raise KeyboardInterrupt

    run = Unhurried(Given(Net().eval(), X), Settings(device="cpu", budget_s=600.0), search)
    run.whole = Timed(run.given, budget_s=1.0, clock_s=1.0)
    run.whole.given_ns = {"eager": [10, 10], "compile": [9, 9]}
    found = run.run()
    assert found.interrupted and len(searched) == 1
    assert found.times_ns == run.whole.given_ns and found.kernels == {}


def test_a_model_that_was_interrupted_before_anything_was_made_has_no_times() -> None:
    class Interrupted(WholeModel):
        def make_rest(self, kernels, with_kernels):
            raise KeyboardInterrupt

    run = accelerated()
    run.whole = Interrupted(run.given, budget_s=1.0, clock_s=1.0)
    run.measure()
    assert run.found.times_ns == {} and run.found.speedup is None


class Large(nn.Module):
    """Computes numbers that float16 does not have."""

    def forward(self, x):
        return x * x


def test_outputs_of_another_type_or_beside_overflowing_ones_are_no_right_outputs() -> None:
    gate = Gate(Given(Net().eval(), X))
    outputs = {"logits": Net().eval()(X)["logits"].double()}
    assert "other shapes or types" in gate.compare(outputs).why_refused
    gate = Gate(Given(Large(), torch.full((4,), 1000.0, dtype=torch.float16)))
    nonsense = torch.full((4,), float("inf"), dtype=torch.float16)
    assert "not finite" in gate.compare(nonsense).why_refused
