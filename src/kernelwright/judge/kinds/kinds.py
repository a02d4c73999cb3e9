"""What kind of win it is, from what ran, not from what the source says.

On a CPU the kernel says from outside whose code runs at random moments (``sampling``). On a GPU
the child's own profiler names the kernels of one more call (``kernel_names`` says whose they are),
and their sum must fit into the time that the judge's clock gave a timed call. The labels decide
nothing about passing.
"""

from __future__ import annotations

import math
import statistics
from typing import Any

from kernelwright.dialects.compile_shader import DISPATCH
from kernelwright.judge.kinds.kernel_names import is_own
from kernelwright.judge.kinds.sampling import (
    FEWEST_SAMPLES,
    LARGE_SHARE,
    NOTICEABLE_SHARE,
    StackSampler,
)
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.runner import Runner

KERNEL, LIBRARY, ALGEBRA = "kernel", "library", "algebra"
LESS_WORK = 0.7
"""Share of the reference's arithmetic below which a candidate rearranges algebra."""
LONGER, LONGER_NS = 1.3, 20_000
"""A profiled call's kernels may add up to this much more than a timed call took: a profiler slows
kernels down a little, and timed calls hold their launches too."""
EVENT_NS = 8_000  # Python and profiler between two operators, on a Zen 5 core
AGAINST = 2
"""Samples of library code, more than of own code, where there are few: a kernel that takes four
fifths of its call is so unlucky once in 25 times at most."""
N_PROFILES = 3
"""On a CPU, where they are quick: an allocation, or others' work, may take most of one call."""
COMPILED_REGION = "Torch-Compiled Region"  # torch/_dynamo/eval_frame.py
MOVES = frozenset((
    "alias", "as_strided", "chunk", "clone", "contiguous", "copy", "detach", "empty",
    "empty_like", "empty_strided", "expand", "fill", "flatten", "full", "full_like",
    "is_nonzero", "item", "lift_fresh", "movedim", "narrow", "new_empty", "new_full",
    "new_zeros", "ones", "permute", "reshape", "resize", "resolve_conj", "resolve_neg",
    "result_type", "select", "slice", "split", "squeeze", "t", "to", "transpose", "unbind",
    "unflatten", "unsqueeze", "view", "zero", "zeros", "zeros_like", "_local_scalar_dense",
    "_reshape_alias", "_to_copy", "_unsafe_view",
))  # fmt: skip
"""The library's operators that make, fill, move or convert tensors, and compute nothing."""


def of(
    runner: Runner,
    oracle: Oracle,
    looks: StackSampler | None,
    *,
    source: str,
    timed_ns: float,
    does_less: bool,
) -> tuple[str, ...]:
    """The kinds of one candidate; none where nothing can be seen of it.

    ``source`` is its text; ``does_less``: it is too fast to do the reference's arithmetic, whoever
    wrote its code.

    Units:
        ``timed_ns``: the median of its timed calls, in nanoseconds.
    """
    try:
        own, library = _seen(runner, oracle, looks, source, timed_ns)
        if own > LARGE_SHARE and looks is not None:
            copied = own * looks.copied_share()
            own, library = own - copied, library + copied
        is_kernel = (
            own > LARGE_SHARE and not oracle.profile.warnings
        )  # no kernel wins a degenerate task
        # Counting takes a second to start, and says nothing about kernels of one's own.
        is_algebra = does_less or (
            not is_kernel and _counted(runner) < LESS_WORK * oracle.profile.work.flops
        )
    except (Refused, TypeError, ValueError, AttributeError, KeyError, OverflowError):
        return ()
    found = []
    if is_kernel:
        found.append(KERNEL)
    if library > NOTICEABLE_SHARE or not found:
        found.append(LIBRARY)
    if is_algebra:
        found.append(ALGEBRA)
    return tuple(found)


def of_emulated(runner: Runner, oracle: Oracle) -> tuple[str, ...]:
    """The kinds of a candidate whose GPU is emulated, by what ran in one call: times say nothing.

    A kernel if it dispatched one, a library if an operator computed something or nothing was
    dispatched; none where nothing can be seen.
    """
    try:
        ran = [str(name) for name, _ in runner.profile(oracle.first_arguments)["operators"]]
    except (Refused, TypeError, ValueError, KeyError):
        return ()
    has_dispatched = any(name.startswith(DISPATCH) for name in ran)
    operators = (name.removeprefix("aten::") for name in ran if name.startswith("aten::"))
    computes = any(name.rstrip("_") not in MOVES for name in operators)
    is_kernel = has_dispatched and not oracle.profile.warnings
    found = [KERNEL] if is_kernel else []
    return (*found, LIBRARY) if computes or not found else tuple(found)


def _counted(runner: Runner) -> float:
    """The library's arithmetic in one call; infinite where it cannot be counted: a graph of
    torch.compile's may refuse to be looked into."""
    try:
        return runner.count_flops()
    except Refused:
        return math.inf


def _seen(
    runner: Runner, oracle: Oracle, looks: StackSampler | None, source: str, timed_ns: float
) -> tuple[float, float]:
    """The shares of own and of library code in one call."""
    if looks is not None and looks.n_told >= FEWEST_SAMPLES and not 0 <= looks.n_against < AGAINST:
        return looks.shares()
    # Few looks catch a kernel of some microseconds, and as many may see own code as a library's:
    # they can only speak against the profile, which takes for own what is no operator's, as the
    # writing of files.
    if looks is not None and (looks.n_against >= AGAINST or looks.is_nobodys):
        return 0.0, 1.0
    n_profiles = N_PROFILES if runner.backend.kind == "cpu" else 1
    profiles = [runner.profile(oracle.first_arguments) for _ in range(n_profiles)]
    own = statistics.median(_shares(profile, source, timed_ns)[0] for profile in profiles)
    return own, 1 - own


def _shares(profile: dict[str, Any], source: str, timed_ns: float) -> tuple[float, float]:
    """The shares of own and of library code in a profile, if it is one of a call like the timed."""
    kernels = [(str(name), float(ns)) for name, ns in profile["kernels"]]
    if kernels:
        total = sum(ns for _, ns in kernels) or 1.0
        if total > LONGER * timed_ns + LONGER_NS:
            return 0.0, 1.0  # a decoy for the profiler
        own = sum(ns for name, ns in kernels if is_own(name, source))
        return own / total, 1 - own / total
    operators = [(str(name), float(ns)) for name, ns in profile["operators"]]
    # Beyond a timed call and the profiler it waited, for what is nobody's code: a loaded machine.
    longest = LONGER * timed_ns + EVENT_NS * len(operators)
    total = max(min(float(profile["wall_ns"]), longest), 1.0)
    library = sum(ns for name, ns in operators if name.startswith(("aten::", COMPILED_REGION)))
    library = min(library + EVENT_NS * len(operators), total)
    return 1 - library / total, library / total
