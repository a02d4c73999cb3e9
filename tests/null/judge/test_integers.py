"""Whole numbers and masks drawn anew: other ones, and still legal."""

from __future__ import annotations

import pytest
import torch

from kernelwright.judge.perturb.integers import (
    ELSEWHERE,
    can_skew,
    resample_integers,
    same_integers,
    skew_integers,
)


def test_resampled_integers_are_some_of_the_old_ones():
    x = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6])
    (y,) = resample_integers([x], [False], 0)
    assert set(y.tolist()) <= set(x.tolist())
    assert not torch.equal(x, y)


def test_resampling_from_two_draws_keeps_frequencies():
    one, other = torch.randint(9, (2, 40)), torch.randint(9, (2, 40))
    (y,) = resample_integers([one], [False], 0, others=[other])
    most = torch.stack([one, other]).flatten().bincount(minlength=9)
    assert bool((y.flatten().bincount(minlength=9) <= most).all()) and not torch.equal(y, one)
    assert bool((y != one).any()) and y.shape == one.shape


def test_only_fixed_integers_are_resampled_if_there_are_some():
    edges, drawn = torch.randint(9, (2, 40)), torch.randint(9, (40,))
    told = same_integers([edges, drawn], [edges.clone(), drawn + 1])
    assert told == [True, False]
    new_edges, same = resample_integers([edges, drawn], told, 0)
    assert not torch.equal(edges, new_edges) and torch.equal(drawn, same)


def test_resampled_offsets_stay_in_order_and_permutations_permutations():
    offsets, places = torch.tensor([0, 2, 2, 5, 9, 9, 12, 20, 21]), torch.randperm(40)
    new_offsets, new_places = resample_integers([offsets, places], [True] * 2, 1)
    assert (new_offsets.diff() >= 0).all() and not torch.equal(offsets, new_offsets)
    assert sorted(new_places.tolist()) == [*range(40)] and not torch.equal(places, new_places)


@pytest.mark.parametrize("offsets", [[0, 16, 32, 48, 64], [16, 32, 48], [0, 16, 16, 48]])
def test_a_few_offsets_stay_in_order_between_their_ends(offsets):
    x = torch.tensor(offsets)
    found = [resample_integers([x], [True], seed)[0] for seed in range(8)]
    assert all(bool((y.diff() >= 0).all()) for y in found)
    assert all(torch.equal(y[[0, -1]], x[[0, -1]]) for y in found)
    assert any(not torch.equal(y, x) for y in found)


def test_equal_steps_stay_if_a_python_integer_gives_them():
    """A kernel may allocate by it."""
    even = torch.arange(0, 65, 16)

    def others(x, longest):
        return [resample_integers([x, longest], [True], seed)[0] for seed in range(8)]

    assert all(torch.equal(y, even) for y in others(even, 16))
    assert any(not torch.equal(y, even) for y in others(even, 17))
    (places, _) = resample_integers([torch.arange(16), 16], [True], 7)
    assert int(places.max()) < 16
    (places, _) = resample_integers([torch.arange(16), 1], [True], 7)
    assert int(places.max()) > 16  # one bounds nothing


def test_descending_lengths_change_and_stay_descending():
    x = torch.tensor([40, 31, 17, 5, 2])
    (y,) = resample_integers([x], [True], 7)
    assert not torch.equal(x, y) and torch.equal(y.diff().sort().values, x.diff().sort().values)


def test_distinct_offsets_change_between_fixed_ends():
    x = torch.tensor([0, 3, 50, 120, 121, 300, 333, 512, 1024])
    (y,) = resample_integers([x], [True], 7)
    assert not torch.equal(x, y) and torch.equal(y[[0, -1]], x[[0, -1]])
    assert torch.equal(y.diff().sort().values, x.diff().sort().values)


def test_equal_steps_become_unequal():
    """Sequences of one length get others, as long together; positions are farther apart."""
    offsets, positions = torch.arange(0, 513, 32), torch.arange(64)[None].expand(4, 64)
    y, z = resample_integers([offsets, positions], [True, True], 7)
    assert bool((y.diff() > 0).all()) and y.diff().unique().numel() > 2
    assert torch.equal(y[[0, -1]], offsets[[0, -1]])
    assert z.stride() == positions.stride() and set(z.diff().unique().tolist()) == {1, 2}


def test_positions_that_fill_a_table_are_shuffled():
    positions, offsets = torch.arange(64)[None].repeat(4, 1), torch.arange(0, 513, 32)
    moved, gaps = resample_integers([positions, offsets], [True, True], 7, ELSEWHERE)
    assert not bool((moved == positions).any()) and torch.equal(moved.sort().values, positions)
    assert bool((gaps.diff() > 0).all())  # in steps of more than one there is a place


def test_sorted_rows_that_share_no_number_exchange_numbers():
    pages = torch.arange(256).view(16, 16)
    (y,) = resample_integers([pages], [True], 7)
    assert bool((y.diff() > 0).all()) and torch.equal(y.flatten().sort().values, pages.flatten())
    assert not bool((y == pages).all(-1).any()) and set(y.diff().unique().tolist()) != {1}


@pytest.mark.parametrize("hides", [True, False])
def test_some_numbers_of_a_constant_mask_are_flipped(hides):
    (mask,) = resample_integers([torch.full((64, 64), hides)], [True], 7)
    assert 0.02 < float((mask != hides).float().mean()) < 0.2


def test_equal_lengths_get_shorter_and_negative_numbers_stay():
    lengths, ignored = torch.full((64,), 9, dtype=torch.int32), torch.full((64,), -100)
    found, same = resample_integers([lengths, ignored], [True, True], 7)
    assert found.dtype == torch.int32 and set(found.tolist()) == {5, 6, 7, 8, 9}
    assert torch.equal(same, ignored)


@pytest.mark.parametrize("value", [0, 1])
def test_some_numbers_of_a_constant_integer_mask_are_flipped(value):
    (found,) = resample_integers([torch.full((64, 64), value)], [True], 7)
    assert found.dtype == torch.int64 and set(found.flatten().tolist()) == {0, 1}
    assert 0.02 < float((found != value).float().mean()) < 0.2
    (single,) = resample_integers([torch.tensor(value)], [True], 7)
    assert int(single) == 1 - value


def test_a_fixed_single_integer_is_varied_like_lengths():
    given = [torch.tensor(1024), torch.tensor([7])]
    told = same_integers(given, given)
    one, other = resample_integers(given, told, 7)
    assert told == [True, True] and one.shape == () and 512 <= int(one) < 1024
    assert 4 <= int(other) <= 7


def test_one_of_the_skewed_integers_is_in_half_of_the_places():
    experts, order, places = torch.arange(8).repeat(64), torch.randperm(64), torch.arange(9)
    found, *same = skew_integers([experts, order, places, 3], 7)
    counts = found.bincount(minlength=8)
    assert 0.4 < counts.max() / found.numel() < 0.7 and counts.min() > 0
    assert list(map(str, same)) == list(map(str, (order, places, 3)))
    assert can_skew(experts) and not can_skew(order) and not can_skew(places)


def test_a_skewed_batch_of_graphs_stays_in_order_between_its_ends():
    graphs = torch.arange(50).repeat_interleave(20)
    (found,) = skew_integers([graphs], 7)
    assert bool((found.diff() >= 0).all()) and (found[0], found[-1]) == (0, 49)
    assert found.bincount().max() > 400


@pytest.mark.parametrize("share", [0.03, 0.9])
def test_the_rarer_number_of_a_skewed_mask_is_in_half_of_it(share):
    mask = torch.rand(64, 256) < share
    for given in (mask, mask.long()):
        (found,) = skew_integers([given], 7)
        assert found.dtype == given.dtype and 0.4 < found.double().mean() < 0.7


CLASSES = torch.nn.functional.one_hot(torch.randint(5, (4, 16, 16)), 5)
MASKS = {
    "lengths": torch.arange(256) < torch.randint(1, 256, (64, 1)),
    "short lengths": torch.arange(6) < torch.randint(1, 6, (64, 1)),
    "a band": torch.ones(64, 64).tril(4).triu(-4).bool(),
    "as many in each row": torch.rand(64, 256).argsort(-1) < 8,
    "as many in each column": (torch.rand(64, 256).argsort(-1) < 8).mT.contiguous(),
    "classes of an image": CLASSES.permute(0, 3, 1, 2).bool(),
    "blocks": torch.eye(8).repeat_interleave(8, 0).repeat_interleave(8, 1).bool(),
    "a few": torch.tensor([True, False, True]),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_masks_that_have_a_form_are_not_skewed(mask):
    assert not can_skew(mask) and not can_skew(mask.long())


@pytest.mark.parametrize(
    "change", [skew_integers, lambda own, seed: resample_integers(own, [True], seed)]
)
def test_rows_of_distinct_numbers_stay_distinct(change):
    chosen = torch.rand(256, 16).argsort(-1)[:, :4]
    (found,) = change([chosen], 7)
    assert not torch.equal(found, chosen)
    assert bool((found.sort(-1).values.diff() > 0).all())


def test_skewed_rows_of_distinct_numbers_have_one_number_in_half_of_the_rows():
    chosen = torch.rand(256, 16).argsort(-1)[:, :4]
    (found,) = skew_integers([chosen], 7)
    assert max((found == n).any(-1).double().mean() for n in range(16)) > 0.5


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_graphs_edges_in_the_order_of_their_sources_stay(is_turned):
    edges = (torch.rand(50, 50) < 0.4).nonzero()
    edges = edges.mT.contiguous() if is_turned else edges
    assert not can_skew(edges)
    assert resample_integers([edges], [True], 7)[0] is edges
    (mixed,) = resample_integers([edges.flip(1 if is_turned else 0)], [True], 7)
    assert mixed.shape == edges.shape


def test_sorted_rows_of_distinct_numbers_stay_distinct():
    chosen = torch.rand(64, 32).argsort(-1)[:, :8].sort(-1).values
    for seed in range(8):
        (found,) = skew_integers([chosen], seed)
        assert bool((found.diff() > 0).all())


def test_a_mask_of_lengths_stays_one_when_it_is_drawn_anew():
    seen = torch.arange(64) < torch.randint(1, 64, (32, 1))
    (found,) = resample_integers([seen], [True], 7)
    assert not torch.equal(found, seen) and bool((found.int().diff() <= 0).all())
