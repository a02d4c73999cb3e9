"""Integers are made equal to what a reference compares them with, if they hardly ever are."""

import pytest
import torch
from torch.nn import functional as F

from kernelwright.judge.perturb.index_collisions import n_collisions, with_collisions
from kernelwright.judge.perturb.integers import is_once

N = 10**9
WORDS, LABELS = torch.randint(1, N, (4, 32)), torch.randint(1, N, (64,))
EDGES = torch.randint(N, (2, 300))
BAGS = torch.tensor([0, 5, 9, 20])


def met(run, *own):
    """What each argument becomes in its turn, where it becomes another."""
    found = [*own]
    for seed in range(n_collisions([*own], lambda given: [run(*given)])):
        changed = with_collisions([*own], lambda given: [run(*given)], seed)
        moved = [n for n, (x, y) in enumerate(zip(own, changed, strict=True)) if not x.equal(y)]
        assert len(moved) == 1 and found[moved[0]] is own[moved[0]]
        found[moved[0]] = changed[moved[0]]
        assert found[moved[0]].stride() == own[moved[0]].stride()
    return found


def test_a_number_that_is_asked_for_comes():
    (words,) = met(lambda ids: ids != 0, WORDS)
    assert 1 <= int((words == 0).sum()) <= 16 and bool(((words == WORDS) | (words == 0)).all())
    (words,) = met(lambda ids: ids.t().long() == 7, WORDS.int())
    assert bool((words == 7).any())
    labels = LABELS % 100
    scores = torch.randn(64, 100)
    _, found = met(lambda x, y: F.cross_entropy(x, y, ignore_index=0), scores, labels.clamp(min=1))
    assert bool((found == 0).any())


def test_padding_of_bags_comes():
    table = torch.randn(100, 8)
    words = WORDS % 99 + 1
    for found in (
        met(lambda ids: F.embedding_bag(ids, table, padding_idx=0), words),
        met(lambda ids, at: F.embedding_bag(ids, table, at, padding_idx=0), words[0], BAGS),
    ):
        assert bool((found[0] == 0).any())
    assert n_collisions([words], lambda given: [F.embedding_bag(given[0], table)]) == 0


@pytest.mark.parametrize("shape", [(8, 10), (80,)])
def test_letters_that_follow_themselves_come(shape):
    lengths = [torch.full((8,), n) for n in (40, 10)]
    letters = torch.randperm(999)[:80].view(shape) + 1

    def run(letters):
        return F.ctc_loss(torch.zeros(40, 8, 1000), letters, *lengths)

    (found,) = met(run, letters)
    assert bool((found[..., 1:] == found[..., :-1]).any()) and bool((found > 0).all())


def test_two_tensors_meet_in_a_place_or_anywhere():
    def ends(edges):
        source, target = edges
        return source != target

    (edges,) = met(ends, EDGES)
    assert bool((edges[0] == edges[1]).any())
    _, labels = met(lambda x, y: (x * N).long().argmax(-1) == y, torch.randn(64, 500), LABELS)
    assert bool((labels < 500).any())
    (who,) = met(lambda x: x[:, None] == x[None], LABELS)
    assert len(who.unique()) < len(who)
    for one, other in zip(met(torch.isin, LABELS, EDGES), (EDGES, LABELS), strict=True):
        assert bool(torch.isin(one, other).any())


def test_an_index_that_is_added_up_by_comes_twice():
    x = torch.randn(64, 3)
    ids = torch.tensor([5, 900, 70, 3, 411, 77, 15, 600])
    (found,) = met(lambda ids: torch.zeros(1000, 3).index_add(0, ids, x[:8]), ids)
    assert len(found.unique()) < 8 and bool(torch.isin(found, ids).all())


NEVER = {
    "none asks": (lambda x: x * 2, LABELS),
    "it is there": (lambda x: x == int(LABELS[5]), LABELS),
    "beyond their range": (lambda x: x == -100, LABELS),
    "all one number": (lambda x: x == 0, torch.full((64,), 3)),
    "a permutation": (lambda x: x == 1000, torch.randperm(64)),
    "offsets": (lambda x: x[:, None] == x[None], torch.arange(0, 640, 10)),
    "bare": (lambda x: x == 0, LABELS.to(torch.uint32)),
    "a mask": (lambda x: x == 5, torch.rand(64) < 0.5),
    "experts of a word": (
        lambda x: torch.zeros(64, 8).scatter_add(1, x, torch.ones(64, 2)),
        torch.rand(64, 8).topk(2).indices,
    ),
}


@pytest.mark.parametrize(("run", "x"), NEVER.values(), ids=NEVER)
def test_nothing_else_is_made_equal(run, x):
    assert not n_collisions([x], lambda given: [run(given[0])])


def test_what_is_written_by_index_never_comes_twice():
    slots = torch.tensor([5, 900, 70, 3, 411, 77, 15, 600])

    def run(slots):
        cache = torch.zeros(1000)
        cache[slots] = 1.0
        return cache, slots == 0

    assert not n_collisions([slots], lambda given: [*run(given[0])])


def test_none_comes_twice_by_luck_or_not():
    assert is_once(torch.randperm(64)) and is_once(torch.arange(0, N, N // 8))
    assert is_once(torch.rand(64, 8).topk(2).indices)
    assert not is_once(WORDS) and not is_once(torch.tensor([3, 1, 3]))
