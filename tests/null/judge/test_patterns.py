"""What a kernel may rely on in a task's inputs stays, under every distribution."""

import pytest
import torch
from tests.null.judge.perturbing import NAMES, transform

from kernelwright.judge.perturb.fixed import Fixed, find_fixed, renew
from kernelwright.judge.perturb.integers import resample_integers
from kernelwright.judge.perturb.patterns import (
    comes_in_pairs,
    comes_twice,
    has_unit_rows,
    in_order,
    is_lower,
    is_mask,
    is_symmetric,
    is_upper,
    kept,
    overlaps,
    rows_are_permutations,
    sums_to_one,
)

torch.manual_seed(0)  # of few numbers the mean may be next to zero, and to centre them nothing


def symmetric(*shape):
    x = torch.randn(*shape)
    return x + x.mT


def is_diagonal(x):
    return is_symmetric(x) and is_lower(x) and is_upper(x)


PATTERNS = {
    "sorted rows": (torch.randn(3, 63).sort(-1).values, in_order),
    "symmetric": (symmetric(2, 12, 12), is_symmetric),
    "lower triangles": (torch.randn(3, 9, 14).tril(), is_lower),
    "upper triangle": (torch.rand(16, 16).triu(), is_upper),
    "diagonal": (torch.rand(16).diag(), is_diagonal),
    "many small covariances": (symmetric(300, 3, 3), is_symmetric),
    "many small triangles": (torch.randn(200, 4, 4).tril(), is_lower),
    "many sorted triples": (torch.rand(64, 3).cumsum(-1), in_order),
    "few sorted pairs": (torch.randn(5, 2).sort(-1).values, in_order),
    "one small covariance": (symmetric(5, 5), is_symmetric),
    "one small triangle": (torch.randn(4, 4).tril(), is_lower),
    "four borders": (torch.tensor([-1.0, 0.0, 0.5, 1.0]), in_order),
    "transposed in memory": (torch.randn(20, 10).triu().mT, is_lower),
}
NONE = {
    "any numbers": torch.randn(16, 16),
    "zeros: a first state": torch.zeros(16, 16),
    "ones": torch.ones(16, 16),
    "a row": torch.randn(16),
    "three numbers": torch.tensor([0.3, 0.1, 0.2]),
    "three a side": torch.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0], [9.0, 8.0, 7.0]]),
    "pairs, some falling": torch.tensor([[0, 1], [1, 1], [1, 0]]).repeat(9, 1),
    "the first of its matrices only": torch.stack([symmetric(8, 8), torch.randn(8, 8)]),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("x", "holds"), PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_stays_and_the_numbers_do_not(name, x, holds):
    for dtype in (torch.float32, torch.bfloat16):
        (changed,) = transform([x.to(dtype)], name, 3)
        assert holds(x.to(dtype)) and changed.stride() == x.stride()
        # A distribution may leave nothing of it: rows of one number, or a diagonal without any.
        alike = changed == changed.mT if holds is is_symmetric else changed.diff() >= 0
        zeros = changed[x == 0] == 0
        assert (zeros if holds in (is_lower, is_upper, is_diagonal) else alike).all()
        is_missed = name == "outliers" and holds is is_diagonal  # a few places among 256
        assert is_missed or not torch.equal(changed, x.to(dtype))


@pytest.mark.parametrize(("x", "holds"), PATTERNS.values(), ids=PATTERNS)
def test_fixed_inputs_keep_their_pattern(x, holds):
    for is_shuffled in (False, True):
        (changed,) = renew([x], Fixed([True], is_shuffled), 0)
        assert holds(changed) and not torch.equal(changed, x)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_that_sum_to_one_still_do(name, dtype):
    x = torch.randn(16, 40).softmax(-1).to(dtype)
    (changed,) = transform([x], name, 3)
    assert sums_to_one(x) and sums_to_one(changed)
    assert name in ("negated", "small") or not torch.equal(x, changed)
    causal = torch.randn(2, 16, 16).masked_fill(torch.ones(16, 16).triu(1) > 0, -torch.inf)
    (changed,) = transform([causal.softmax(-1)], name, 3)
    assert sums_to_one(changed) and is_lower(changed)
    (changed,) = renew([x], Fixed([True]), 3)
    assert sums_to_one(changed) and not torch.equal(x, changed)
    assert not sums_to_one(torch.rand(16, 40)) and not sums_to_one(torch.ones(16, 1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_rows_of_length_one_stay_so(name, dtype):
    x = torch.nn.functional.normalize(torch.randn(16, 40, dtype=torch.float64), dim=-1).to(dtype)
    (changed,) = transform([x], name, 3)
    assert has_unit_rows(x) and has_unit_rows(changed)
    assert name == "small" or not torch.equal(x, changed)
    assert not has_unit_rows((torch.randn(16, 40) / 40**0.5).to(dtype))


def test_a_mask_that_is_constant_in_each_row_is_still_a_mask_after_flips():
    mask = torch.eye(16)[torch.randint(16, (64,))]
    (changed,) = resample_integers([mask], [True], 5)
    assert sums_to_one(mask) and is_mask(changed) and not torch.equal(changed, mask)


@pytest.mark.parametrize("name", NAMES)
def test_integer_columns_are_shuffled(name):
    images, boxes = torch.randint(3, (64, 1)).float(), torch.rand(64, 4)
    x = torch.cat([images, boxes], 1)
    for given in (x, x.mT.contiguous().mT, x.view(4, 16, 5)):
        (changed,) = transform([given], name, 3)
        column = changed[..., 0].flatten()
        assert torch.equal(column.sort().values, images.flatten().sort().values)
        assert not torch.equal(column, images.flatten())
        assert not torch.equal(changed[..., 1:], given[..., 1:])
    (changed,) = renew([x], Fixed([True], is_shuffled=True), 3)
    assert torch.equal(changed[:, 0].sort().values, images.flatten().sort().values)


def test_zero_columns_and_tables_of_integers_are_not_integer_columns():
    zeros, words = torch.zeros(64, 1), torch.randint(9, (64, 4)).float()
    few = torch.rand(4, 2).mul(9).round() + 1
    for x in (torch.cat([zeros, torch.rand(64, 4)], 1), words, few):
        (changed,) = transform([x], "shifted", 3)
        assert not bool((changed == x).any())


@pytest.mark.parametrize("x", NONE.values(), ids=NONE)
def test_tensors_without_a_pattern_get_none(x):
    assert not any(holds(x) for holds in (in_order, is_symmetric, is_lower, is_upper))


def test_overlapping_views_are_told_from_strided_ones():
    x = torch.zeros(4, 8)
    assert overlaps(torch.arange(8).expand(4, 8)) and overlaps(torch.zeros(9).unfold(0, 4, 1))
    assert not any(map(overlaps, (x, x.T, x[:, ::2], x[:1], torch.zeros(()), x[:0])))


def test_rows_of_permutations_are_told_from_rows_of_other_numbers():
    rows = torch.stack([torch.randperm(16) for _ in range(4)])
    assert rows_are_permutations(rows) and rows_are_permutations(rows[0])
    assert not rows_are_permutations(rows + torch.arange(4)[:, None])  # distinct, by chance
    assert not rows_are_permutations(rows // 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_of_zeros_and_ones_stays_one_beside_what_changes(name):
    mask, x = (torch.rand(8, 32) > 0.5).float(), torch.randn(8, 32)
    changed, other = transform([mask, x], name, 3)
    assert is_mask(mask) and torch.equal(changed, mask) and not torch.equal(other, x)
    for none in (
        torch.ones(64),
        torch.zeros(64),
        torch.tensor([0.0, 1.0]),
        x,
        mask[:, :1].expand(8, 32),
    ):
        assert not is_mask(none)
    assert is_mask(mask * 2 - 1) and is_mask(torch.where(mask > 0, 0.0, -torch.inf))


def test_some_numbers_of_a_fixed_mask_are_flipped():
    causal, x = torch.ones(64, 64).tril(), torch.randn(64, 64)
    hidden = torch.where(causal > 0, 0.0, -torch.inf)
    assert renew([causal, x], Fixed([False, False]), 0)[0] is causal
    fixed = [True, True, False]
    changed, other, stays = resample_integers([causal, hidden, x], fixed, 4)
    assert is_lower(changed) and is_mask(changed) and 1 <= int((changed != causal).sum()) <= 32
    assert is_mask(other) and 1 <= int((other != hidden).sum()) <= 40 and stays is x
    _, many, _ = resample_integers([causal, hidden, x], fixed, 5)  # which a mean shows
    assert is_mask(many) and 300 <= int((many != hidden).sum()) <= 500
    assert find_fixed(lambda seed: [causal, x * (seed + 1)], lambda given: given) == (
        Fixed([False, False]),
        [],
    )
    fixed, warnings = find_fixed(lambda seed: [causal], lambda given: given)
    assert fixed.which == [True] and not warnings


@pytest.mark.parametrize("name", NAMES)
def test_repeated_halves_of_rows_stay_equal(name):
    half = torch.randn(3, 5, 16)
    half[:, 0] = 1.0  # as a first position's cosines
    for x, holds in (
        (half.repeat(1, 1, 2), comes_twice),
        (half.repeat_interleave(2, -1), comes_in_pairs),
    ):
        for changed in (*transform([x], name, 3), *renew([x], Fixed([True], is_shuffled=True), 0)):
            assert holds(x) and not torch.equal(changed, x)
            order = (-1, 2) if holds is comes_in_pairs else (2, -1)
            one, two = changed.unflatten(-1, order).unbind(-1 if order[0] < 0 else -2)
            assert torch.equal(one, two)
    for none in (half, torch.ones(4, 32), torch.tensor(1.0), torch.randint(2, (32,))):
        assert not comes_twice(none) and not comes_in_pairs(none)


def test_a_matrix_is_symmetric_despite_rounding():
    points = torch.randn(60, 3)
    near = torch.exp(-torch.cdist(points, points)) + 1e-7 * torch.rand(60, 60)
    changed = kept(near, torch.randn(60, 60))
    assert torch.equal(changed, changed.mT)
    near[3, 4] += 1e-3
    assert not torch.equal(changed := kept(near, torch.randn(60, 60)), changed.mT)


def test_distances_stay_zero_on_the_diagonal():
    points = torch.randn(60, 3)
    distances = (points[:, None] - points[None]).norm(dim=-1)
    assert not bool(kept(distances, torch.randn(60, 60)).diagonal().any())
    assert bool(kept(distances + torch.eye(60), torch.randn(60, 60)).diagonal().any())


@pytest.mark.parametrize("place", [0, 1])
def test_events_stay_in_the_order_of_their_times(place):
    events = torch.randn(100, 2)
    events[:, place] = events[:, place].sort().values
    given = torch.randn(100, 2)
    changed = kept(events, given)
    assert bool((changed[:, place].diff() >= 0).all())
    assert torch.equal(changed[given[:, place].argsort().argsort()], given)


def test_descending_rows_stay_descending():
    likely = torch.rand(64, 16).softmax(-1).sort(-1, descending=True).values
    changed = kept(likely, torch.randn(64, 16))
    assert bool((changed.diff() <= 0).all())
