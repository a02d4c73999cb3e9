"""Timed results: compared with eager's, and some of them with float64."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from tests.null.judge.stubs import oracle_like

from kernelwright.judge.checks import TASK, Draw
from kernelwright.judge.compare.expected import expect
from kernelwright.judge.compare.outputs import are_near
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.verify.chance import FEWEST_VERIFIED, VERIFIED_SHARE
from kernelwright.judge.verify.verification import Verification


def test_an_error_that_few_numbers_may_have_is_not_near_everywhere():
    exact = torch.rand(128, 128).double() + 1
    own = exact.float()
    own.diagonal().add_(1e-3)  # as of a matrix of distances
    usual = expect([own], [exact], [8.0])
    assert are_near([own.clone()], [own], usual)
    assert are_near([exact.float()], [own], usual)
    assert not are_near([exact.bfloat16().float()], [own], usual)


def test_what_is_typically_off_by_more_is_not_near():
    exact = torch.rand(64, 64).double() + 1
    own = exact.bfloat16()
    usual = expect([own], [exact], [8.0])
    other = own + (torch.randint(0, 2, own.shape) * 2 - 1) * 2.0**-7
    assert are_near([own.clone()], [own], usual)
    assert not are_near([other * 1.02], [own], usual)


def made(n_bytes: int, seed: int, seen: list[Draw]) -> Verification:
    right = torch.ones(64)
    usual = expect([right], [right.double()], [8.0])
    (output,) = usual.outputs
    usual = replace(usual, outputs=(replace(output, allowed=2.0),))  # eager's shows nothing

    def expected(draw: Draw, _: object) -> object:
        seen.append(draw)
        found = expect([right], [right.double()], [8.0])
        (output,) = found.outputs
        outputs = (replace(output, jumps=torch.zeros(64)),)
        return replace(found, is_conditioned=True, outputs=outputs)

    oracle = oracle_like(expected=expected, usual=usual)
    backend = SimpleNamespace(memory_bytes=lambda: n_bytes)
    return Verification(oracle, SimpleNamespace(backend=backend), seed)


def timed(check: Verification, n_rounds: int, *, wrong: tuple[int, ...] = ()) -> None:
    right = torch.ones(64)
    for number in range(n_rounds):
        outputs = [right + 1.0] if number in wrong else [right]
        call, eager = Call(1, [], outputs), Call(1, [], [right])
        check.compare_timed(Draw(TASK, number), [right], call, eager)
    check.finish()


@pytest.mark.parametrize("n_bytes", [1 << 40, 1])
def test_three_timed_calls_are_verified_however_few_there_are(n_bytes):
    for seed in range(20):
        seen: list[Draw] = []
        timed(made(n_bytes, seed, seen), 7)
        assert len(set(seen)) == len(seen) >= FEWEST_VERIFIED


def test_a_tenth_of_many_is_verified():
    n_verified = []
    for seed in range(40):
        seen: list[Draw] = []
        timed(made(1 << 40, seed, seen), 80)
        n_verified.append(len(seen))
    assert abs(sum(n_verified) / 40 - 80 * VERIFIED_SHARE) < 2


@pytest.mark.parametrize("n_bytes", [1 << 40, 1])
def test_each_timed_call_is_as_likely_verified_as_others(n_bytes):
    counts = [0] * 10
    for seed in range(400):
        seen: list[Draw] = []
        timed(made(n_bytes, seed, seen), 10)
        for draw in seen:
            counts[draw.seed] += 1
    assert min(counts) > 60  # 120 of three in ten, fewer where they are verified at once
    assert n_bytes == 1 or max(counts) < 180


def test_who_is_wrong_in_most_timed_calls_is_refused():
    n_refused = 0
    for seed in range(50):
        try:
            timed(made(1 << 40, seed, []), 7, wrong=(2, 3, 5, 6))
        except Refused:
            n_refused += 1
    assert n_refused >= 45
