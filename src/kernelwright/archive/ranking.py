"""What of a history is best, and what of it a proposer should see. Pure functions."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Collection, Iterable, Sequence

from kernelwright.core.candidate import Exemplar, Proposal
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.standing import Standing

Pair = tuple[Proposal, Evaluation]

CONTRAST = 1.1
"""Smallest ratio of the speedups of two exemplars. Closer ones teach no contrast: intervals are
about that wide."""
FAILED_SHARE = 3  # at most every third exemplar shows a failure


def wins(evaluation: Evaluation) -> bool:
    """Whether the whole interval of the speedup against the strongest baseline is above 1.

    An interval that is too wide to be a measurement does not win, unless it is far above 1.
    """
    return evaluation.standing is Standing.FASTER


def newest(history: Iterable[Pair]) -> list[Pair]:
    """Those by the newest version of the judge that is among them: no others are comparable."""
    pairs = list(history)
    version = max((verdict.judge_version for _, verdict in pairs), default=0)
    return [pair for pair in pairs if pair[1].judge_version == version]


def latest(history: Iterable[Pair]) -> list[Pair]:
    """The last verdict on each candidate, in the order of first verdicts.

    The last one counts because the best of many noisy measurements is flattered: a candidate is
    judged again to confirm it. One that blames the machine says nothing and is left out.
    """
    last: dict[str, Pair] = {}
    for proposal, evaluation in history:
        if evaluation.status is not Status.INFRA_ERROR:
            last[proposal.candidate.digest] = (proposal, evaluation)
    return list(last.values())


def ranked(history: Iterable[Pair]) -> list[Pair]:
    """The passed and timed candidates, the highest lower bound of the speedup first."""
    timed = [(pair[1].speedup, pair) for pair in latest(history)]
    fast = [(speedup.low, pair) for speedup, pair in timed if speedup is not None]
    return [pair for _, pair in sorted(fast, key=lambda entry: -entry[0])]


def promising(history: Iterable[Pair]) -> list[Pair]:
    """Those of ``ranked`` whose median speedup is above 1: worth measuring for longer."""
    return [pair for pair in ranked(history) if (found := pair[1].speedup) and found.median > 1]


def best(history: Iterable[Pair]) -> Pair | None:
    """The first of ``ranked`` that wins; None where nothing beats the strongest baseline."""
    return next((pair for pair in ranked(history) if wins(pair[1])), None)


def to_confirm(history: Iterable[Pair], confirmed: Collection[str], *, n_most: int) -> Pair | None:
    """The next candidate to measure again, for longer; None if that would decide nothing.

    The best comes first, in any case, until the best is among the ``confirmed`` digests. Then come
    those whose intervals leave open whether they beat it, or the strongest baseline if nothing
    does, until ``n_most`` are confirmed.
    """
    pairs = list(history)
    first = best(pairs)
    if first is not None and first[0].candidate.digest not in confirmed:
        return first
    if len(confirmed) >= n_most:
        return None
    floor = first[1].speedup.low if first and first[1].speedup else 1.0
    for proposal, found in promising(pairs):
        is_open = found.speedup is not None and found.speedup.high > floor
        if is_open and proposal.candidate.digest not in confirmed:
            return proposal, found
    return None


def best_of_each(history: Iterable[Pair]) -> tuple[Pair, ...]:
    """The best that passed on each device in each dialect."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for proposal, found in history:
        key = (found.environment.device, proposal.candidate.dialect)
        groups.setdefault(key, []).append((proposal, found))
    return tuple(order[0] for group in groups.values() if (order := ranked(group)))


def mean_speedup(verdicts: Iterable[Evaluation]) -> float | None:
    """The geometric mean of the median speedups over the strongest baseline, which is another one
    on each shape; None where a verdict has none."""
    found = [verdict.speedup for verdict in verdicts]
    medians = [speedup.median for speedup in found if speedup is not None]
    return statistics.geometric_mean(medians) if medians and len(medians) == len(found) else None


def best_over_shapes(histories: Sequence[Iterable[Pair]]) -> list[Pair]:
    """The candidate with the highest ``mean_speedup`` of those that were timed on every shape, with
    its verdict on each; empty where its mean is not above 1, or where it wins on no shape.

    ``histories``: what was judged on each shape.
    """
    by_shape = [{p.candidate.digest: (p, found) for p, found in ranked(h)} for h in histories]
    common = [d for d in by_shape[0] if all(d in pairs for pairs in by_shape)] if by_shape else []
    rows = [[pairs[digest] for pairs in by_shape] for digest in common]
    best = max(rows, key=lambda row: mean_speedup(found for _, found in row) or 0.0, default=[])
    mean = mean_speedup(found for _, found in best) or 0.0
    return best if mean > 1 and any(wins(found) for _, found in best) else []


def exemplars(
    history: Iterable[Pair], n: int, seed: int, contrast: float = CONTRAST
) -> list[Exemplar]:
    """At most ``n`` candidates to learn from: the best as the parent, then contrasts to it.

    The speedups of any two passed ones differ by the factor ``contrast`` or more. They come from
    distinct buckets of that width, drawn without replacement, faster buckets more often; inside a
    bucket every candidate is as likely. 'better' ones beat the strongest baseline and 'worse' ones
    do not. Up to a third are 'failed'. Same arguments, same exemplars.

    Source:
        Buckets and their softmax: CUDA-L1, arXiv 2507.14111, section on contrastive exemplars.
    """
    if n < 1:
        return []
    draw = random.Random(seed)
    passed = ranked(history)
    failed = [pair for pair in latest(history) if not pair[1].passed]
    shown = [Exemplar(*pair, role="parent") for pair in passed[:1]]
    n_failed = min(len(failed), n // FAILED_SHARE if passed else n)
    for pair in _from_buckets(passed, n - len(shown) - n_failed, contrast, draw):
        shown.append(Exemplar(*pair, role="better" if wins(pair[1]) else "worse"))
    shown += [Exemplar(*pair, role="failed") for pair in draw.sample(failed, n_failed)]
    return shown


def shuffled(shown: Sequence[Exemplar], seed: int) -> list[Exemplar]:
    """The same candidates with one another's verdicts and roles, drawn by ``seed``.

    It is the control of contrastive training: as much text, and scores that mean nothing.
    """
    verdicts = [(each.evaluation, each.role) for each in shown]
    random.Random(seed).shuffle(verdicts)
    return [
        Exemplar(each.proposal, *verdict) for each, verdict in zip(shown, verdicts, strict=True)
    ]


def _from_buckets(
    passed: Sequence[Pair], n: int, contrast: float, draw: random.Random
) -> list[Pair]:
    """Up to ``n`` pairs after the first, each from another bucket; P(bucket) ∝ exp((mean - μ) / τ).

    Scores are logarithms of speedups; μ is the mean of the buckets' means, τ their spread. A pair
    that is too close to one that was drawn before, or to the first, is left out.
    """
    apart = math.log(contrast)

    def is_apart(pair: Pair, other: Pair) -> bool:
        return abs(_score(pair) - _score(other)) >= apart

    buckets: dict[int, list[Pair]] = {}
    for pair in passed[1:]:
        if is_apart(pair, passed[0]):
            buckets.setdefault(math.floor(_score(pair) / apart), []).append(pair)
    means = {key: statistics.fmean(map(_score, pairs)) for key, pairs in buckets.items()}
    centre = statistics.fmean(means.values()) if means else 0.0
    spread = statistics.pstdev(means.values()) if len(means) > 1 else 1.0
    chosen: list[Pair] = []
    while buckets and len(chosen) < n:
        keys = list(buckets)
        weights = [math.exp((means[key] - centre) / spread) for key in keys]
        (key,) = draw.choices(keys, weights)
        drawn = draw.choice(buckets.pop(key))
        chosen.append(drawn)
        left = {key: [p for p in pairs if is_apart(p, drawn)] for key, pairs in buckets.items()}
        buckets = {key: pairs for key, pairs in left.items() if pairs}
    return chosen


def _score(pair: Pair) -> float:
    speedup = pair[1].speedup
    assert speedup is not None  # only ranked pairs come here
    return math.log(speedup.median)
