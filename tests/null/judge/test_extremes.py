"""Inputs far from the task's own: huge ones, and a few among others."""

import pytest
import torch
from tests.null.judge.perturbing import perturbed, transform
from torch.nn.functional import binary_cross_entropy

from kernelwright.judge.compare.measures import all_finite
from kernelwright.judge.perturb.values import N_OUTLIERS


def test_outliers_are_few_and_large():
    (y,) = transform([torch.rand(512, 512)], "outliers", 1)
    changed = (y < 0) | (y > 1)
    assert 4 <= int(changed.sum()) <= N_OUTLIERS
    assert float(y.min()) < -100 and float(y.max()) > 100


def test_some_outliers_share_a_row_and_others_do_not():
    (y,) = transform([torch.rand(512, 512)], "outliers", 2)
    assert sorted(int(n) for n in (y.abs() > 1).sum(1) if n) == [1, 1, 1, 1, 4]


def largest(tensors, seed):
    return [float(x.abs().max()) for x in transform(tensors, "outliers", seed)]


def test_arguments_take_turns_at_huge_outliers():
    """Where two such meet in a product, its error is beyond what any order of sums can promise."""
    given = [torch.rand(512), torch.rand(1, 8).expand(8, 8), torch.rand(64, 64)]
    drawn = [largest(given, seed) for seed in (9, 10, 11)]
    for turn, sizes in enumerate(drawn):
        assert sizes.pop(turn) > 100 and all(18 > size > 8 for size in sizes)


def test_ends_are_the_integers_next_to_the_range():
    x = 0.98 * torch.rand(64, 64) + 0.01
    (y,) = transform([x], "ends_of_range", 7)
    assert 1 <= int((y == 0).sum()) <= 2 and 1 <= int((y == 1).sum()) <= 2
    assert int((x != y).sum()) <= 2 * N_OUTLIERS and bool(((y >= 0) & (y <= 1)).all())


def test_ends_replace_outliers_if_the_reference_accepts_nothing_beyond_them():
    def varied(run):
        def told(given):
            return [run(*given)]

        def accepts(changed, own):
            return all_finite(told(changed))

        return perturbed([torch.rand(64, 64)], "outliers", 7, accepts=accepts, run=told)[0]

    assert bool((varied(torch.asin) == 1).any())
    assert not bool((varied(torch.special.ndtri) == 1).any())


@pytest.mark.parametrize("seed", range(20))
def test_whether_outliers_are_accepted_does_not_depend_on_luck(seed):
    """Of eight sizes up to 1.1 times a range's end all may lie below it: then no end ever came."""

    def told(given):
        return [binary_cross_entropy(*given, reduction="none")]

    def bears(changed, own):
        return all(float(x.min()) >= 0 and float(x.max()) <= 1 for x in changed)

    draw = torch.Generator().manual_seed(seed)
    own = [torch.rand(64, 64, generator=draw) for _ in range(2)]
    varied = perturbed(own, "outliers", 2 * seed, accepts=bears, run=told)
    assert all(bool((x == 0).any()) and bool((x == 1).any()) for x in varied)


def test_replacements_of_outliers_lie_anywhere_in_the_range():
    x = torch.randint(0, 3, (64, 64)).float()
    (y,) = transform([x], "within_range", 7)
    assert 4 <= int((y != y.round()).sum()) <= N_OUTLIERS and 0 <= float(y.min()) <= 2


def test_outliers_stand_out_in_large_arguments_too():
    wide = 40 * torch.rand(64, 64)
    assert all(size > 2 * 39 for seed in (4, 5) for size in largest([wide, wide], seed))
