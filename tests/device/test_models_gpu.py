"""A model in a CUDA graph computes what the model computes, and the forms of a model are timed.

Run with: python -m pytest -q tests/device/test_models_gpu.py
"""

from __future__ import annotations

import pytest
import torch
from tests.null.models.test_profile import Net

from kernelwright.models import forms
from kernelwright.models.accelerate import Accelerated
from kernelwright.models.given import Given

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]


@pytest.fixture
def given() -> Given:
    return Given(Net().eval().cuda(), torch.randn(4, 8, 16, device="cuda"))


@torch.no_grad()
def test_a_graph_is_replayed_on_new_inputs_and_steps_aside_for_others(given) -> None:
    graphed = forms.Graphed(given.model, *given.args)
    for shape in ((4, 8, 16), (4, 8, 16), (2, 8, 16)):
        x = torch.randn(shape, device="cuda")
        torch.testing.assert_close(graphed(x)["logits"], given.model(x)["logits"])
    with torch.enable_grad():
        assert graphed(x)["logits"].requires_grad


@torch.no_grad()
@pytest.mark.parametrize("form", forms.CAPTURED)
def test_a_graph_of_a_step_of_decoding_fills_the_cache_that_it_is_given(form) -> None:
    pytest.importorskip("transformers")
    from benchmarks.whole_models import made

    given = Given(*made("llama_decode", True, "cuda"))
    assert form in forms.usable(given)
    expected = given.run(given.model).logits.clone()
    graphed = forms.made(form, given)
    for _ in range(2):
        torch.testing.assert_close(given.run(graphed).logits, expected)


def test_both_graphs_of_a_model_are_timed(given, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    import kernelwright as kw

    found: Accelerated = kw.accelerate(given.model, given.args[0], budget_s=40)
    assert {forms.EAGER, *forms.CAPTURED} <= set(found.times_ns), found.failed_forms
    assert found.library in forms.LIBRARY and callable(found.fastest(given.args[0]))
