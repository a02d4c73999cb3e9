"""A call that kernels do not serve is counted by its reason, and told as the user asks."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest
import torch
from tests.host.compiler.test_built import LAYERS
from tests.host.compiler.test_candidates import cache_folder, proposals
from tests.host.compiler.test_other_uses import GATED, PARTED
from tests.null.swarm.briefs import verdict
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.loaders import load
from kernelwright.search.result import Result, write_source

__all__ = ["cache_folder"]

TEXTS = {"whole": GATED, "parts": PARTED}
X = torch.ones(6, 8)


def result_for(task: Task, folder) -> Result:
    best = proposals(task)[0]
    path = write_source(best.candidate, folder, "example")
    return Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")


@pytest.fixture(scope="module", params=TEXTS)
def found(request, tmp_path_factory) -> Result:
    task = Task("example", "folder", TEXTS[request.param])
    return result_for(task, tmp_path_factory.mktemp("kernels"))


@pytest.fixture(params=["one", "several"])
def given(request, found):
    return [found] if request.param == "several" else found


def test_a_reason_is_told_once_and_counted_each_time(given) -> None:
    built = kw.build(given)
    with pytest.warns(UserWarning, match=r"gradients are wanted.*torch\.no_grad"):
        built(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built(X)
        with torch.no_grad():
            built(X)
    with torch.no_grad(), pytest.warns(UserWarning, match="(strides and dtype|such inputs)"):
        built(torch.ones(8, 6).t())
    assert len(kw.misses(built)) == 2
    assert min(kw.misses(built).values()) >= 1 and max(kw.misses(built).values()) >= 2


def test_a_frozen_module_is_served_with_gradients_on(given) -> None:
    built = kw.build(given, on_miss="raise").requires_grad_(False)
    assert not built(X).requires_grad
    assert kw.misses(built) == {}
    with pytest.raises(RuntimeError, match="gradients are wanted"):
        built(X.clone().requires_grad_())


def test_raising_and_silence_survive_copies(given) -> None:
    for copied in (copy.deepcopy, lambda built: pickle.loads(pickle.dumps(built))):
        with pytest.raises(RuntimeError, match="gradients are wanted"):
            copied(kw.build(given, on_miss="raise"))(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            silent = copied(kw.build(given, on_miss="silent"))
            silent(X)
        assert sum(kw.misses(silent).values()) >= 1


def test_torch_compile_tells_of_a_miss_as_it_traces(found) -> None:
    built = kw.build(found)
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="do not serve this call"):
        torch.compile(built, backend="eager")(X)


def test_a_module_without_its_text_refuses_with_the_reason(tmp_path) -> None:
    found = result_for(load(LAYERS, inputs=[torch.randn(6, 8)], name="layers"), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match=r"why: *gradients are wanted"):
            kw.build(found)(X)


def test_an_unknown_way_to_tell_is_refused(found) -> None:
    with pytest.raises(UsageError, match="on_miss"):
        kw.build(found, on_miss="shout")


def test_only_what_takes_part_counts_for_gradients(tmp_path) -> None:
    """A parameter that the forward does not use asks for no gradients of it."""
    text = GATED.replace(
        "self.layers = nn", "self.unused = nn.Linear(2, 2)\n        self.layers = nn"
    )
    built = kw.build(result_for(Task("example", "folder", text), tmp_path), on_miss="raise")
    built.layers.requires_grad_(False)
    assert isinstance(built.unused, nn.Linear) and not built(X).requires_grad
