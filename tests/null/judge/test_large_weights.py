"""Weights are as large as the reference bears, where results still say something."""

import torch

from kernelwright.judge.perturb.weight_sets import (
    AS_MADE,
    FACTORS,
    LARGE,
    TOUCHED,
    USUAL,
    enlarge_weights,
    enlarged,
    randomised,
    sets_of_weights,
    touched,
)

X = torch.randn(8, 64)
MOVED = X * (1 + 1e-6 * torch.randn(8, 64))


def large(module, run):
    twin = enlarged(module, 3, lambda one: run(one, X), lambda one: run(one, MOVED))
    return twin.get(LARGE)


def growth(module, twin):
    """By how much each parameter's largest number has grown."""
    own = dict(module.named_parameters())
    return {
        name: float((p / own[name]).detach().nan_to_num().abs().max())
        for name, p in twin.named_parameters()
    }


def test_large_weights_enlarge_logits_behind_a_norm():
    module = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 256))
    module = randomised(module, 7, lambda one: one(X))
    before, after = module(X).abs().max(), large(module, lambda one, x: one(x))(X).abs().max()
    assert before < 10 and after > 100


def test_a_result_that_is_nothing_but_rounding_hides_none_from_large_weights():
    def with_a_check(one, x):
        return one(x), torch.nn.functional.layer_norm(x, (64,)).mean(-1)

    module = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 256))
    module = randomised(module, 7, lambda one: one(X))
    assert large(module, with_a_check)(X).abs().max() > 100


def test_numbers_are_of_all_sizes_and_all_have_the_other_sign_where_both_occur():
    module = torch.nn.Linear(64, 64)
    module.shares = torch.nn.Parameter(torch.rand(64) + 0.5)
    with torch.no_grad():
        module.weight[:, 3] = 0.0
    twin = large(module, lambda one, x: one(x))
    assert torch.equal(module.weight.sign(), -twin.weight.sign())
    assert bool((twin.shares > 0).all())
    ratio = -(twin.weight / module.weight)[:, 4:].detach().amin(1)
    assert bool((ratio < 3).any()) and bool((ratio > 8).any()) and bool((ratio >= 1).all())
    assert growth(module, twin)["weight"] > FACTORS[0]


def test_single_numbers_are_as_large_as_any():
    for seed in range(8):
        module = torch.nn.Module()
        module.slope = torch.nn.Parameter(torch.tensor([0.25]))
        module.scale = torch.nn.Parameter(torch.tensor(0.5))
        enlarge_weights(module, seed, 16.0)
        assert module.slope.item() == 4.0 and module.scale.item() == 8.0


def test_weights_are_smaller_where_the_largest_make_results_infinite():
    module = torch.nn.Linear(64, 64, bias=False)
    with torch.no_grad():
        module.weight.fill_(0.5)
    twin = large(module, lambda one, x: (one.weight * 8.0).exp())
    assert 4.0 < growth(module, twin)["weight"] <= FACTORS[1] ** 2


def test_weights_that_leave_rounding_alone_of_results_are_not_taken():
    module = torch.nn.LayerNorm(64)
    twin = large(module, lambda one, x: one.bias + (one.weight.sum() * 1e8 * x).sin())
    assert twin is None or torch.equal(twin.weight, module.weight)


def test_there_are_no_large_weights_without_weights_or_without_room():
    runs = (lambda one: one(X), lambda one: one(MOVED))
    plain, layer = torch.nn.ReLU(), torch.nn.Linear(64, 64)
    assert sets_of_weights(plain, torch.nn.ReLU, 1, runs, lambda n: True).keys() == {
        USUAL,
        AS_MADE,
    }
    n_bytes = 4 * (64 * 64 + 64)
    for room, more in ((2 * n_bytes, [TOUCHED, LARGE]), (n_bytes, [LARGE])):
        has_room = room.__ge__
        named = sets_of_weights(layer, lambda: torch.nn.Linear(64, 64), 1, runs, has_room)
        assert list(named) == [USUAL, AS_MADE, *more]
    named = sets_of_weights(layer, lambda: torch.nn.Linear(64, 64), 1, runs, lambda n: False)
    assert list(named) == [USUAL, AS_MADE]


def test_few_numbers_of_each_parameter_are_touched():
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.PReLU())
    twin = touched(module, 3, lambda one: one(X), kept={"0.bias"})[TOUCHED]
    grown = {name: p / dict(module.named_parameters())[name] for name, p in twin.named_parameters()}
    share = float((grown["0.weight"] == 2).float().mean())
    assert 0.005 < share < 0.05 and float((grown["0.weight"] == 1).float().mean()) == 1 - share
    assert bool((grown["0.bias"] == 1).all()) and float(grown["1.weight"]) == 1


def test_touched_weights_need_the_references_acceptance():
    module = torch.nn.Linear(64, 64)

    def run(one):
        return one(X) if torch.equal(one.weight, module.weight) else X / 0

    assert touched(module, 3, run) == {}
