"""The time of a model is spread over groups of equal modules, and outputs are gated."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright.core.errors import TaskError
from kernelwright.models import roofline
from kernelwright.models.gate import Gate, why_unsteady
from kernelwright.models.given import Given
from kernelwright.models.profile import example_of, profile
from kernelwright.models.swap import take_out, twin_of
from kernelwright.runtime.calls import ByPosition, Uncallable, call_of


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

    def append_on(self, device):
        self.layers.append(Layer(16).to(device))
        return self

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, scale=None)
        return {"logits": self.head(x)}


X = torch.randn(4, 8, 16)


def test_equal_modules_are_one_group() -> None:
    groups = {group.kind: group for group in profile(Given(Net(), X))}
    assert groups["Layer"].paths == [f"layers.{n}" for n in range(3)]
    assert groups["Layer"].n_calls == 3 and groups["Layer"].why_not == ""
    assert groups["LayerNorm"].paths == [f"layers.{n}.norm" for n in range(3)]
    assert groups["Layer"].holds(groups["LayerNorm"])
    assert not groups["LayerNorm"].holds(groups["Layer"])
    assert 0 < groups["LayerNorm"].share < groups["Layer"].share < 2  # clocks are noisy
    assert all(0 <= group.room <= 1 for group in groups.values())


def test_a_model_is_one_task_unless_equal_layers_are_most_of_it() -> None:
    mixed = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8))
    whole = next(group for group in profile(Given(mixed, X)) if group.paths == [""])
    assert whole.why_not == ""
    assert all(whole.holds(other) for other in profile(Given(mixed, X)) if other.paths != [""])
    net = Net()
    net.head = nn.Identity()  # the layers are most of it on a busy machine too
    whole = next(group for group in profile(Given(net, X)) if group.paths == [""])
    assert whole.why_not == "it holds 3 equal modules Layer, searched as one"


def test_modules_with_other_constants_or_inputs_are_other_groups() -> None:
    net = Net()
    net.layers[1].norm.eps = 0.5
    net.layers[2].norm = nn.LayerNorm(16, elementwise_affine=False)
    norms = [group for group in profile(Given(net, X)) if group.kind == "LayerNorm"]
    assert sorted(group.paths for group in norms) == [[f"layers.{n}.norm"] for n in range(3)]


def test_an_example_is_the_first_call_by_position() -> None:
    (x, scale) = example_of(Given(Net(), X), "layers.0")
    assert scale is None and torch.equal(x, X)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x, bias=None, *, mask=None, **others):
        return x * self.scale + others.get("more", 0) + (0 if mask is None else mask)


def test_a_call_by_keyword_is_put_in_order_and_can_be_repeated() -> None:
    module, x = Named(), torch.ones(2)
    assert call_of(module, (x,), {"mask": None})[0].names == ()
    call, inputs = call_of(module, (x,), {"mask": 2, "more": 3})
    assert (call.n_positional, call.names, inputs[2:]) == (2, ("mask", "more"), [2, 3])
    by_position = ByPosition(module, call)
    assert torch.equal(by_position(*inputs), module(x, mask=2, more=3))
    assert by_position.state_dict().keys() == module.state_dict().keys()
    with pytest.raises(Uncallable, match="called with a set"):
        call_of(module, ({1},), {})


def test_a_module_is_not_captured_over_the_hooks_of_its_parts() -> None:
    net = Net()
    net.layers[1].norm.register_forward_hook(lambda *_: None)
    layers = [g for g in profile(Given(net, X)) if g.kind == "Layer"]
    assert {g.why_not.partition(" which")[0] for g in layers} >= {"its part norm has hooks,", ""}


def test_modules_that_differ_only_in_their_number_are_equal() -> None:
    net = Net()
    for number, layer in enumerate(net.layers):
        layer.layer_idx = number
    (layers,) = [g for g in profile(Given(net, X)) if g.kind == "Layer"]
    assert len(layers.paths) == 3
    net.layers[2].layer_idx = 7
    assert len([g for g in profile(Given(net, X)) if g.kind == "Layer"]) == 2


def test_attention_with_fewer_heads_of_keys_is_counted() -> None:
    class Attention(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(
                x, x[:, :2], x[:, :2], enable_gqa=True
            )

    given = Given(nn.Sequential(Attention()), torch.randn(1, 4, 32, 64))
    moved, flops = roofline._work(given)
    assert flops["0"] == 2 * 4 * 32 * 32 * 128
    assert moved["0"] == 2 * 4 * 4 * 32 * 64


def test_a_container_of_equal_modules_is_not_a_task() -> None:
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = nn.Sequential(*(Layer(256) for _ in range(4)))

        def forward(self, x):
            return self.stack(x)

    groups = {g.kind: g for g in profile(Given(Outer(), torch.randn(64, 256)))}
    assert groups["Sequential"].why_not == "it holds 4 equal modules Layer, searched as one"
    assert groups["Layer"].why_not == ""


class Counting:
    """A cache that grows in every forward."""

    def __init__(self):
        self.seen, self.total = [], torch.zeros(())


class WithCache(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x, cache):
        cache.seen.append(x)
        cache.total.add_(1)
        return x * self.scale * len(cache.seen) * cache.total


def test_what_a_forward_changes_is_restored_before_the_next() -> None:
    cache, x = Counting(), torch.ones(4)
    given = Given(WithCache(), [x, cache])
    given.require_repeatable()
    assert not given.is_replayable and Given(Named(), torch.ones(2)).is_replayable
    for _ in range(2):
        assert torch.equal(given.run(given.model), x)
    assert cache.seen == [] and cache.total == 0  # the caller's own is not touched
    assert Gate(given).is_exact


def test_outputs_as_exact_as_the_librarys_pass_and_others_do_not() -> None:
    net = Net()
    exact = net(X)
    gate = Gate(Given(net, X))
    assert gate.is_exact and not gate.compare(exact).why_refused
    off = {"logits": exact["logits"] * (1 + 1e-3)}
    assert "is off by" in gate.compare(off).why_refused
    assert "the library's by " in gate.compare(off).why_refused
    nan = {"logits": exact["logits"].clone().fill_(float("nan"))}
    assert gate.compare(nan).why_refused
    assert "shapes" in gate.compare({"logits": exact["logits"][:2]}).why_refused


def test_a_choice_of_another_token_is_refused_though_every_logit_is_close() -> None:
    net, width = Net(), 1200
    logits = torch.zeros(2, width)
    logits[:, 0] = 1.0
    gate = Gate(Given(net, X[:2, 0]))
    gate.exact = [logits.double()]
    gate.library = [logits + 0.4 * torch.eye(width)[:2]]  # a library that is as far off
    other = logits.clone()
    other[:, 5] = 1.1
    assert "argmax regret" in gate.compare({"logits": other}).why_refused


def test_a_module_whose_choices_hang_on_rounding_cannot_be_judged() -> None:
    class Chosen(nn.Module):
        def forward(self, x):
            return nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype) * x

    near = torch.tensor([[1.0, 1.0 + 1e-4, 0.0], [3.0, 1.0, 0.0]])
    tied = Given(Chosen(), near.bfloat16())  # the first two are one number in bfloat16
    assert why_unsteady(tied) == ""
    scaled = nn.Sequential(nn.Linear(3, 3, bias=False), Chosen()).bfloat16()
    weight = torch.tensor([[1.0, 0.5, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    scaled[0].weight.data.copy_(weight)
    x = torch.tensor([[256.0, 1.0, 1.0]]).bfloat16()  # 256.5 and 257, both 256 in bfloat16
    assert why_unsteady(Given(scaled, x)).startswith("rounding makes 1 of 1 rows")
    assert why_unsteady(Given(Net(), X)) == ""


def test_rows_that_are_nearly_zero_by_chance_are_no_other_choice() -> None:
    torch.manual_seed(0)
    head = nn.Sequential(nn.Linear(256, 64), nn.GELU(), nn.Linear(64, 1)).bfloat16()
    assert why_unsteady(Given(head, torch.randn(2000, 256).bfloat16())) == ""


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
        (lambda net: net, X[..., :3], "does not run on these inputs"),
        (lambda net: net.append_on("meta"), X, "not all on one device"),
        (lambda net: nn.Sequential(net.layers[0], nn.Dropout()), X, "not deterministic"),
        (lambda net: net.to("meta"), X, "not all on one device"),
        (lambda net: quantised(net), X, "another form than tensors"),
    ],
)
def test_what_cannot_be_accelerated_is_said(tmp_path, monkeypatch, change, inputs, words) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match=words):
        kw.accelerate(change(Net()), inputs)


def quantised(net: nn.Module) -> nn.Module:
    class Packed(nn.Linear):
        """Keeps what is no tensor in its state, as torch.ao's quantised layers do."""

        def _save_to_state_dict(self, state, prefix, keep_vars):
            state[prefix + "packed"] = (self.weight, torch.qint8)

    return nn.Sequential(net.layers[0], Packed(16, 16))


def test_a_device_that_the_model_is_not_on_is_an_error(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match="another device than it is to be accelerated for"):
        kw.accelerate(Net(), X, device="cuda:sm_90")


def test_a_model_without_a_float64_form_is_compared_with_the_library_and_says_so() -> None:
    class Single(nn.Module):
        def forward(self, x):
            if x.dtype is torch.float64:
                raise TypeError("no such dtype")
            return x * 2

    gate = Gate(Given(Single(), X))
    assert not gate.compare(X * 2).is_exact and not gate.compare(X * 2).why_refused
    assert gate.compare(X * 2.01).why_refused
