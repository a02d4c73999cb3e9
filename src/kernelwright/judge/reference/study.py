"""The study of a reference: a few runs on the task's own inputs, from which its profile is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from kernelwright.core.outcome import Warned
from kernelwright.core.task import FULL_PRECISION
from kernelwright.judge.checks import OTHER_SHAPES, TASK, Draw, derive_seed
from kernelwright.judge.compare.growth import count_terms
from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.index_collisions import n_collisions
from kernelwright.judge.perturb.integers import can_skew, same_integers
from kernelwright.judge.perturb.patterns import is_mask, is_symmetric
from kernelwright.judge.perturb.values import has_numbers, n_drawn
from kernelwright.judge.perturb.weight_sets import USUAL
from kernelwright.judge.profile import Inputs, Results, Shapes, TaskProfile, Work
from kernelwright.judge.reference import fitness
from kernelwright.judge.reference.forward import Convention, Forward
from kernelwright.judge.reference.lowered import may_be_rounded
from kernelwright.judge.reference.observed import Observed
from kernelwright.judge.reference.task_inputs import TaskInputs
from kernelwright.judge.sandbox import layout
from kernelwright.judge.sandbox.entries import new_entries
from kernelwright.judge.sandbox.layout import leaves, map_tensors, shapes_text
from kernelwright.loaders.plain import nothing_returned, weights_of

OTHERS_MISFIT = ("the reference fails on other inputs", "mend it")
"""The message and the advice of a task's error."""
MOST_DRAWS = 8
"""Draws that are compared with the first: a yes or no is the same in every other one."""


def study(forward: Forward, inputs: TaskInputs, secret: int) -> TaskProfile:
    """Run the reference a few times; afterwards ``forward`` knows how to call it.

    Raises:
        TaskError: it does not run, its results vary from run to run, or cannot be compared.
    """
    arguments = inputs.first_arguments
    first = _first_call(forward, arguments)
    results, terms = first.results, first.terms
    if not first.all_results:
        raise nothing_returned(None)
    forward.settle()
    fitness.require_deterministic(
        first.outputs, forward.modules[USUAL], partial(forward.run_unseeded, arguments)
    )
    for number in range(1, MOST_DRAWS + 1):
        other = inputs.of(Draw(TASK, derive_seed(secret, TASK.id, number)))
        found = forward.run(other)
        fitness.require_same_numbers(results.nesting, forward.nesting)
        if not all(map(torch.equal, first.all_results, found)):
            break
    inputs.fixed_integers = same_integers(arguments, other)
    warnings = [
        *forward.warnings,
        *inputs.warnings,
        *fitness.degenerate(first.all_results, found),
    ]
    writes_weights = first.seen.writes_weights and not any(results.ours)
    forward.convention = replace(forward.convention, writes_weights=writes_weights)
    given = _inputs(inputs, arguments, n_collisions(arguments, forward.run))
    weights = list(forward.state(USUAL).values())
    moved_bytes = layout.bytes_of([arguments, weights, first.outputs])
    return _profile(forward, results, given, terms, moved_bytes, warnings)


@dataclass(frozen=True)
class _First:
    """The first call: what was seen, and its results with the arguments that it writes to."""

    seen: Observed
    outputs: list[torch.Tensor]
    all_results: list[torch.Tensor]
    results: Results
    terms: list[float]


def _first_call(forward: Forward, arguments: list[Any]) -> _First:
    given = map_tensors(torch.clone, arguments)
    held, seen = leaves(given), forward.observe(given)
    entries = new_entries(given, held)
    if entries:  # once more, with those among the results
        forward.convention = Convention(entries=entries)
        given = map_tensors(torch.clone, arguments)
        held, seen = leaves(given), forward.observe(given)
    results = [t.detach() for t in seen.outputs]
    changed = fitness.written(held, arguments)
    returned = layout.lie_in(results, held)
    forward.convention = Convention(True, entries, tuple(changed), tuple(returned))
    # All of this is overwritten by the judge itself.
    memory = [*held, *weights_of(forward.modules[USUAL]).values()]
    ours = layout.lie_in(results, memory)
    lent = layout.lie_in(results, [*memory, *forward.run_unseeded(arguments)])
    outputs = [t.clone() for t in results] if any(returned) else results
    weights = list(forward.state(USUAL).values())
    fitness.require_numbers([*leaves([arguments, weights]), *outputs])
    all_results = [*outputs, *layout.those(held, changed)]
    told = Results(
        example=layout.without_memory(outputs),
        nesting=seen.nesting,
        entries=entries,
        changed=changed,
        returned=returned,
        ours=ours,
        lent=lent,
        overlapping=frozenset(),
    )
    terms = _terms(seen, forward, arguments, all_results)
    return _First(seen, outputs, all_results, told, terms)


def _terms(
    seen: Observed, forward: Forward, arguments: list[Any], results: list[torch.Tensor]
) -> list[float]:
    """Count the terms that each result may be the sum of; arguments written to come last."""
    inputs = leaves([arguments, list(forward.state(USUAL).values())])
    n_written = len(results) - len(seen.outputs)
    longest = [*seen.n_added, *[seen.most_added] * n_written]
    return count_terms(inputs, results, seen.flops, longest, is_known=seen.is_known)


def _inputs(inputs: TaskInputs, arguments: list[Any], n_colliding: int) -> Inputs:
    tensors = leaves(arguments)
    return Inputs(
        fixed=inputs.fixed,
        fixed_integers=list(inputs.fixed_integers),
        n_tensors=n_drawn(arguments),
        n_collisions=n_colliding,
        is_symmetric=any(map(is_symmetric, tensors)),
        has_integers=any(is_whole(t) or is_mask(t) for t in tensors),
        has_numbers=has_numbers(arguments),
        can_skew=any(map(can_skew, tensors)),
    )


def _profile(
    forward: Forward,
    results: Results,
    inputs: Inputs,
    terms: list[float],
    moved_bytes: int,
    warnings: list[Warned],
) -> TaskProfile:
    """The profile but for other weights and shapes, of which the first call says nothing."""
    (*_, seen) = forward.observed
    work = Work(
        flops=seen.flops,
        terms=terms,
        moved_bytes=moved_bytes,
        convolves=seen.convolves,
        factorises=seen.factorises,
        writes_weights=forward.convention.writes_weights,
    )
    asked = forward.task.precision
    precision = "" if asked == FULL_PRECISION else asked
    profile = TaskProfile(
        results=results,
        work=work,
        inputs=inputs,
        asks_for_specials=False,
        asks_for_zeros=False,
        precision=precision,
        may_round_to_tf32=False,
        warnings=tuple(warnings),
    )
    return with_all_seen(profile, forward)


def with_shapes(profile: TaskProfile, forward: Forward, secret: int) -> TaskProfile:
    """The profile with the other sets of inputs that the task declares."""
    seed = derive_seed(secret, "others")
    given = forward.reference.other_inputs(seed, forward.device)
    shapes: dict[str, Shapes] = {}
    for number, arguments in enumerate(given):
        seen = forward.observe(map_tensors(torch.clone, arguments), OTHERS_MISFIT)
        changed = layout.those(leaves(arguments), profile.results.changed)
        terms = _terms(seen, forward, arguments, [*seen.outputs, *changed])
        name = shapes_text(arguments)
        name = f"{name} ({number + 1})" if name in shapes else name
        shapes[name] = Shapes(name, number, layout.without_memory(seen.outputs), terms)
    return with_all_seen(replace(profile, shapes=shapes), forward)


def with_all_seen(profile: TaskProfile, forward: Forward) -> TaskProfile:
    """The profile with what any of the calls that were watched has shown."""

    def any_of(is_so: Callable[[Observed], bool]) -> bool:
        return any(map(is_so, forward.observed))

    shared = frozenset[tuple[int, int]]().union(*(seen.overlapping for seen in forward.observed))
    work = replace(
        profile.work,
        convolves=any_of(lambda seen: seen.convolves),
        factorises=any_of(lambda seen: seen.factorises),
    )
    asks_for_specials = any_of(lambda seen: seen.asks_for_specials)
    forward.convention = replace(forward.convention, asks_for_specials=asks_for_specials)
    return replace(
        profile,
        results=replace(profile.results, overlapping=shared),
        work=work,
        asks_for_specials=asks_for_specials,
        asks_for_zeros=any_of(lambda seen: seen.asks_for_zeros),
        may_round_to_tf32=(
            work.convolves
            and forward.task.precision != FULL_PRECISION
            and may_be_rounded(forward.device)
        ),
    )


def shape_draws(shapes: Mapping[str, Shapes], secret: int) -> list[Draw]:
    """One draw of each of the other sets of inputs."""
    seed = derive_seed(secret, "others")
    return [
        Draw(OTHER_SHAPES, derive_seed(seed, one.number), shapes=one) for one in shapes.values()
    ]
