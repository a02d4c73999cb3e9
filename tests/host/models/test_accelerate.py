"""A model with kernels in its modules computes the same, and can be saved and loaded."""

from __future__ import annotations

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from tests.host.compiler.test_misses import result_for
from tests.null.models.test_profile import Net, X
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import TaskError
from kernelwright.loaders import load
from kernelwright.models import waterfall
from kernelwright.models.accelerate import Accelerated, Step
from kernelwright.models.given import Given
from kernelwright.models.profile import example_of, profile
from kernelwright.models.swap import Swapped, noted_misses, put_in, take_out
from kernelwright.models.whole import WholeModel
from kernelwright.runtime.dispatch import forms_of

__all__ = ["cache_folder"]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory) -> Accelerated:
    """A model, and files of kernels for its norms."""
    net = Net().eval()
    given = Given(net, X)
    (group,) = (g for g in profile(given) if g.kind == "LayerNorm")
    example = example_of(given, group.paths[0])
    task = load(net.layers[0].norm, inputs=example, name="norm")
    found = result_for(task, tmp_path_factory.mktemp("kernels"))
    key = ("cpu", forms_of(example), ())
    files = {path: Swapped(group.call, {key: found.source_path}) for path in group.paths}
    return Accelerated(net, [Step(group, "kept", result=found)], files)


@torch.no_grad()
def test_kernels_are_put_in_and_taken_out(kernels) -> None:
    net = kernels.model
    expected = net(X)["logits"]
    built = {
        path: Swapped(swapped.call, {k: kw.build(file) for k, file in swapped.kernels.items()})
        for path, swapped in kernels.kernels.items()
    }
    put_in(net, built, "raise")
    torch.testing.assert_close(net(X)["logits"], expected)
    assert kw.misses(net) == {}
    with pytest.raises(RuntimeError, match="no kernel was judged"):
        net(X.transpose(0, 1).contiguous().transpose(0, 1))
    net.layers[0].norm.weight.mul_(2)
    changed = net(X)["logits"]
    assert not torch.allclose(changed, expected)
    take_out(net, built)
    torch.testing.assert_close(net(X)["logits"], changed)
    net.layers[0].norm.weight.div_(2)
    assert not any("forward" in vars(module) for module in net.modules())


@torch.no_grad()
def test_calls_that_no_kernel_serves_under_torch_compile_are_noted(kernels) -> None:
    net = Net().eval()
    built = {
        path: Swapped(swapped.call, {k: kw.build(file) for k, file in swapped.kernels.items()})
        for path, swapped in kernels.kernels.items()
    }
    put_in(net, built, "raise")
    for x, n_missed in ((X, 0), (X.transpose(0, 1).contiguous().transpose(0, 1), 3)):
        with noted_misses(net, built) as reasons:
            torch.compile(net, backend="eager")(x)
        assert len(reasons) == n_missed
    assert vars(net.layers[0].norm)["on_miss"] == "raise"


def test_kernels_are_weighed_beside_those_kept_before(kernels) -> None:
    net = Net().eval()
    built = {
        path: Swapped(swapped.call, {k: kw.build(file) for k, file in swapped.kernels.items()})
        for path, swapped in kernels.kernels.items()
    }
    whole = WholeModel(Given(net, X), budget_s=0.5, clock_s=0.05)
    whole.make_plain()
    before: list[str] = []
    for path, swapped in built.items():
        put_in(net, {path: swapped}, "raise")
        assert whole.brought([path], before).median > 0
        before.append(path)
    times = whole.time_all(before)
    assert times["kernels"] and "forward" not in vars(whole.plain.layers[0].norm)


def test_what_the_kernels_bring_is_told_from_what_a_graph_of_compiled_code_brings(kernels) -> None:
    times = {"eager": [40, 40], "compile": [30, 30], "compile_graph": [20, 20]}
    found = Accelerated(kernels.model, times_ns=times)
    assert (found.library, found.plain, found.form) == ("compile", *2 * ["compile_graph"])
    assert found.speedup.median == 1.5 and found.by_kernels is None
    assert "no kernel pays" in waterfall.headline(found)
    found.kernels, found.times_ns = kernels.kernels, times | {"kernels_compile_graph": [10, 10]}
    assert found.speedup.median == 3.0 and found.by_kernels.median == 2.0
    assert "its kernels bring 2.00" in waterfall.headline(found)
    assert "compiler" not in waterfall.headline(found)
    found.times_ns = {name: times for name, times in found.times_ns.items() if name != "compile"}
    found.failed_forms = {"compile": "it may take 440 s"}
    said = "the library's compiler is not among these: it may take 440 s"
    assert said in waterfall.headline(found)


@torch.no_grad()
def test_a_saved_model_is_loaded_into_another(kernels, tmp_path) -> None:
    folder = kernels.save(tmp_path / "saved")
    other = Net().eval()
    expected = other(X)["logits"]
    kw.load_accelerated(other, folder, on_miss="raise")
    torch.testing.assert_close(other(X)["logits"], expected)
    assert kernels.save(folder) == folder  # again, over itself

    with pytest.raises(TaskError, match="another model"):
        kw.load_accelerated(nn.Linear(2, 2), folder)
    with pytest.raises(TaskError, match="do not fit"):
        kw.load_accelerated(Net(32), folder)
    with pytest.raises(TaskError, match="no accelerated model"):
        kw.load_accelerated(other, tmp_path)
    (source,) = folder.glob("*.py")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(TaskError, match="not the file that was saved"):
        kw.load_accelerated(Net(), folder)


def test_a_form_that_the_library_cannot_make_is_named(kernels) -> None:
    found = Accelerated(kernels.model, failed_forms={"compile": "Unsupported: a lock"})
    (cells,) = zip(*(column.cells for column in waterfall.form_table(found).columns), strict=True)
    assert "compile" in cells and any("Unsupported: a lock" in cell for cell in cells)


def test_nothing_is_written_where_it_does_not_belong(kernels, tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(TaskError, match="holds something else"):
        kernels.save(tmp_path)
    with pytest.raises(TaskError, match="no kernel to save"):
        Accelerated(kernels.model).save(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


class Loop(nn.Module):
    """A recurrence, which is one operator where torch.compile looks, as transformers' Mamba is."""

    def forward(self, x):
        if torch.compiler.is_compiling():
            return x * 2.0**-400
        for _ in range(400):
            x = x * 0.5
        return x


def test_operators_are_counted_as_the_compiler_sees_them() -> None:
    whole = WholeModel(Given(Loop(), X), budget_s=12.0, clock_s=0.05)
    whole.make_plain()
    assert whole.failed == {} and "compile" in whole.without


def test_a_run_without_time_times_what_needs_none_and_says_what_is_missing() -> None:
    found = kw.accelerate(Net().eval(), X, budget_s=0.01)
    assert list(found.times_ns) == ["eager"] and not found.kernels
    assert "more than the budget allows" in found.failed_forms["compile"]
    assert {step.outcome for step in found.steps} == {"skipped"}


def test_a_search_leaves_the_model_right_whatever_it_finds(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    net = Net(64).eval()
    x = torch.randn(64, 32, 64)
    with torch.no_grad():
        expected = net(x)["logits"]
    steps: list[Step] = []
    found = kw.accelerate(net, {"x": x}, on_step=steps.append, budget_s=30)
    assert steps and found.steps  # layers one by one, or the network as a whole
    with torch.no_grad():
        torch.testing.assert_close(net(x)["logits"], expected, rtol=1e-4, atol=1e-4)
    served = any("forward" in vars(module) for module in net.modules())
    assert served == bool(found.kernels) == (found.speedup is not None)
    page = waterfall.write_page(found, tmp_path / "page.html")
    assert all(step.group.kind in page.read_text() for step in steps)
    assert waterfall.facts_of(found)["steps"]
