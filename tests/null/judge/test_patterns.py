"""What a kernel may rely on in a task's inputs stays, under every distribution."""

import pytest
import torch
from tests.null.judge.perturbing import NAMES, transform

from kernelwright.judge.perturb.fixed import Fixed, find_fixed, renew
from kernelwright.judge.perturb.integers import resample_integers
from kernelwright.judge.perturb.patterns import (
    has_other_form,
    in_order,
    is_lower,
    is_mask,
    is_symmetric,
    is_upper,
    kept,
    overlaps,
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
    (changed,) = renew([x], Fixed([True]), 0)
    assert holds(changed) and not torch.equal(changed, x)


HALF = torch.randn(3, 5, 16)
HALF[:, 0] = 1.0  # as a first position's cosines
BOXES = torch.cat([torch.randint(3, (64, 1)).float(), torch.rand(64, 4)], 1)
EVENTS = torch.cat([torch.rand(64, 1).sort(0).values, torch.randn(64, 1)], 1)
OTHER_FORMS = {
    "probabilities": torch.randn(16, 40).softmax(-1),
    "causal probabilities": torch.randn(2, 16, 16).tril().softmax(-1),
    "directions": torch.nn.functional.normalize(torch.randn(16, 40), dim=-1),
    "equal halves": HALF.repeat(1, 1, 2),
    "equal pairs": HALF.repeat_interleave(2, -1),
    "boxes beside their images": BOXES,
    "boxes in a batch": BOXES.view(4, 16, 5),
    "events in the order of their times": EVENTS,
}
NO_OTHER_FORM = {
    "any numbers": torch.randn(16, 40),
    "positive numbers": torch.rand(16, 40),
    "ones": torch.ones(16, 40),
    "zeros": torch.zeros(16, 40),
    "a row": torch.randn(64),
    "a column of zeros": torch.cat([torch.zeros(64, 1), torch.rand(64, 4)], 1),
    "integers": torch.randint(9, (64, 4)).float(),
    "few numbers": torch.rand(4, 2).mul(9).round() + 1,
    "nothing": torch.zeros(0, 4),
    "one number": torch.tensor(1.0),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("x", OTHER_FORMS.values(), ids=OTHER_FORMS)
def test_tensors_of_another_form_stay_as_the_task_draws_them(name, dtype, x):
    if x is OTHER_FORMS["directions"]:
        x = torch.nn.functional.normalize(x.to(dtype), dim=-1)
    x = x.to(dtype)
    assert has_other_form(x) and transform([x], name, 3)[0] is x


@pytest.mark.parametrize("x", NO_OTHER_FORM.values(), ids=NO_OTHER_FORM)
def test_other_tensors_have_no_such_form(x):
    assert not has_other_form(x)


@pytest.mark.parametrize("name", ["equal halves", "equal pairs"])
def test_fixed_rows_of_equal_numbers_change_and_stay_equal(name):
    x = OTHER_FORMS[name]
    (changed,) = renew([x], Fixed([True]), 3)
    assert has_other_form(changed) and not torch.equal(changed, x)


def test_fixed_probabilities_stay():
    x = OTHER_FORMS["probabilities"]
    assert renew([x], Fixed([True]), 3)[0] is x


def test_a_mask_that_is_constant_in_each_row_is_still_a_mask_after_flips():
    mask = torch.eye(16)[torch.randint(16, (64,))]
    (changed,) = resample_integers([mask], [True], 5)
    assert is_mask(changed) and not torch.equal(changed, mask)


@pytest.mark.parametrize("x", NONE.values(), ids=NONE)
def test_tensors_without_a_pattern_get_none(x):
    assert not any(holds(x) for holds in (in_order, is_symmetric, is_lower, is_upper))


def test_overlapping_views_are_told_from_strided_ones():
    x = torch.zeros(4, 8)
    assert overlaps(torch.arange(8).expand(4, 8)) and overlaps(torch.zeros(9).unfold(0, 4, 1))
    assert not any(map(overlaps, (x, x.T, x[:, ::2], x[:1], torch.zeros(()), x[:0])))


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


def test_a_matrix_is_symmetric_despite_rounding():
    points = torch.randn(60, 3)
    near = torch.exp(-torch.cdist(points, points)) + 1e-7 * torch.rand(60, 60)
    changed = kept(near, torch.randn(60, 60))
    assert torch.equal(changed, changed.mT)
    near[3, 4] += 1e-3
    assert not torch.equal(changed := kept(near, torch.randn(60, 60)), changed.mT)


def test_descending_rows_stay_descending():
    likely = torch.rand(64, 16).softmax(-1).sort(-1, descending=True).values
    changed = kept(likely, torch.randn(64, 16))
    assert bool((changed.diff() <= 0).all())
