"""The time of a model is spread over groups of equal modules, and outputs are gated."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import TaskError
from kernelwright.models.gate import Gate
from kernelwright.models.profile import by_position, example_of, profile
from kernelwright.models.swap import take_out, twin_of


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)

    def forward(self, x, scale=None):
        return x + self.up(self.norm(x))


class Net(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(3))
        self.head = nn.Linear(width, 1200)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, scale=None)
        return {"logits": self.head(x)}


X = torch.randn(4, 8, 16)


def run(model):
    return model(X)


def test_equal_modules_are_one_group() -> None:
    groups = {group.kind: group for group in profile(Net(), run)}
    assert groups["Layer"].paths == [f"layers.{n}" for n in range(3)]
    assert groups["Layer"].n_calls == 3 and groups["Layer"].why_not == ""
    assert groups["LayerNorm"].paths == [f"layers.{n}.norm" for n in range(3)]
    assert groups["Layer"].holds(groups["LayerNorm"])
    assert not groups["LayerNorm"].holds(groups["Layer"])
    assert 0 < groups["LayerNorm"].share < groups["Layer"].share < 1


def test_modules_with_other_constants_or_inputs_are_other_groups() -> None:
    net = Net()
    net.layers[1].norm.eps = 0.5
    net.layers[2].norm = nn.LayerNorm(16, elementwise_affine=False)
    norms = [group for group in profile(net, run) if group.kind == "LayerNorm"]
    assert sorted(group.paths for group in norms) == [[f"layers.{n}.norm"] for n in range(3)]


def test_an_example_is_the_first_call_by_position() -> None:
    (x, scale) = example_of(Net(), "layers.0", run)
    assert scale is None and torch.equal(x, X)


def test_keywords_without_a_position_are_named() -> None:
    class Named(nn.Module):
        def forward(self, x, *, mask=None, **others):
            return x

    assert by_position(Named(), (1,), {"mask": None}) == ([1], "")
    assert by_position(Named(), (1,), {"mask": 2, "more": 3})[1].endswith("mask, more")


def test_outputs_as_exact_as_the_librarys_pass_and_others_do_not() -> None:
    net = Net()
    exact = net(X)
    gate = Gate(net, ((X,), {}), exact)
    assert gate.is_exact and not gate.compare(exact).why_refused
    off = {"logits": exact["logits"] * (1 + 1e-3)}
    assert "is off by" in gate.compare(off).why_refused
    nan = {"logits": exact["logits"].clone().fill_(float("nan"))}
    assert gate.compare(nan).why_refused
    assert "shapes" in gate.compare({"logits": exact["logits"][:2]}).why_refused


def test_a_choice_of_another_token_is_refused_though_every_logit_is_close() -> None:
    net, width = Net(), 1200
    logits = torch.zeros(2, width)
    logits[:, 0] = 1.0
    gate = Gate(net, ((X,), {}), {"logits": logits})
    gate.exact = [logits.double()]
    gate.library = [logits + 0.4 * torch.eye(width)[:2]]  # a library that is as far off
    other = logits.clone()
    other[:, 5] = 1.1
    assert "argmax regret" in gate.compare({"logits": other}).why_refused


def test_a_twin_shares_weights_and_can_be_changed_alone() -> None:
    net = Net()
    twin = twin_of(net)
    assert all(a is b for a, b in zip(net.parameters(), twin.parameters(), strict=True))
    vars(twin.layers[0])["forward"] = lambda x, scale=None: x
    take_out(twin, ["layers.0"])
    assert torch.equal(twin(X)["logits"], net(X)["logits"])


@pytest.mark.parametrize(
    ("change", "inputs", "words"),
    [
        (lambda net: "net", X, "no model"),
        (lambda net: net, X.to("meta"), "another device"),
        (lambda net: nn.Sequential(net.layers[0], nn.Dropout()), X, "not deterministic"),
    ],
)
def test_what_cannot_be_accelerated_is_said(tmp_path, monkeypatch, change, inputs, words) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match=words):
        kw.accelerate(change(Net()), inputs)


def test_a_model_without_a_float64_form_is_compared_with_the_library_and_says_so() -> None:
    class Single(nn.Module):
        def forward(self, x):
            if x.dtype is torch.float64:
                raise TypeError("no such dtype")
            return x * 2

    gate = Gate(Single(), ((X,), {}), X * 2)
    assert not gate.compare(X * 2).is_exact and not gate.compare(X * 2).why_refused
    assert gate.compare(X * 2.01).why_refused
