"""The kind of a win, by the code that ran, not by the source.

On a CPU the kernel says from outside whose code runs at random moments (``sampling``). On a GPU
the child's own profiler names the kernels of one more call (``kernel_names`` says whose they are),
and their sum must fit into the time that the judge's clock gave a timed call. The labels decide
nothing about passing.
"""

from __future__ import annotations

import math
import statistics

from kernelwright.dialects.compile_shader import DISPATCH
from kernelwright.judge.kinds.kernel_names import is_own
from kernelwright.judge.kinds.reports import Count, Profile, read
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
"""How many more samples of library code than of own code speak against own work, if there are few:
a kernel that takes four fifths of its call is so unlucky once in 25 times at most."""
N_PROFILES = 3
"""Profiles taken on a CPU, where they are quick: an allocation, or other processes, may take most
of one call."""
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
    sampler: StackSampler | None,
    *,
    source: str,
    timed_ns: float,
    does_less: bool,
) -> tuple[str, ...]:
    """Return the kinds of one candidate; none if nothing can be seen of it.

    ``source`` is its text; ``does_less``: it is too fast to do the reference's arithmetic, in own
    code or a library's.

    Units:
        ``timed_ns``: the median of its timed calls, in nanoseconds.
    """
    try:
        shares = _seen(runner, oracle, sampler, source, timed_ns)
        if shares is None:
            return ()
        own, library = shares
        is_kernel = own > LARGE_SHARE and not oracle.profile.is_doubtful
        # Counting takes a second to start, and says nothing about kernels of one's own.
        is_algebra = does_less or (
            not is_kernel and _counted(runner) < LESS_WORK * oracle.profile.work.flops
        )
    except Refused:
        return ()
    is_library = library > NOTICEABLE_SHARE or not is_kernel
    found = ((KERNEL, is_kernel), (LIBRARY, is_library), (ALGEBRA, is_algebra))
    return tuple(name for name, is_so in found if is_so)


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
    """The library's arithmetic in one call; infinite if it cannot be counted: a graph of
    torch.compile's may refuse to be looked into."""
    try:
        count = read(Count, runner.count_flops())
    except Refused:
        return math.inf
    return math.inf if count is None else count.flops


def _seen(
    runner: Runner, oracle: Oracle, sampler: StackSampler | None, source: str, timed_ns: float
) -> tuple[float, float] | None:
    """The shares of own and of library code in one call; None if the child tells nothing."""
    if sampler is not None:
        is_close = 0 <= sampler.n_against < AGAINST
        if sampler.n_told >= FEWEST_SAMPLES and not is_close:
            return sampler.shares()
        # Few samples catch a kernel of some microseconds, and as many may see own code as a
        # library's: they can only speak against the profile, which takes for own what is no
        # operator's, as the writing of files.
        if sampler.n_against >= AGAINST or sampler.is_nobodys:
            return 0.0, 1.0
    n_profiles = N_PROFILES if runner.backend.kind == "cpu" else 1
    said = [read(Profile, runner.profile(oracle.first_arguments)) for _ in range(n_profiles)]
    profiles = [profile for profile in said if profile is not None]
    if len(profiles) < n_profiles:
        return None
    own = statistics.median(own_share(profile, source, timed_ns) for profile in profiles)
    return own, 1 - own


def own_share(profile: Profile, source: str, timed_ns: float) -> float:
    """The share of own code in a profile; zero if it is not one of a call like the timed ones."""
    if profile.kernels:
        total = sum(ns for _, ns in profile.kernels) or 1.0
        if total > LONGER * timed_ns + LONGER_NS:
            return 0.0  # a decoy for the profiler
        return sum(ns for name, ns in profile.kernels if is_own(name, source)) / total
    n_operators = len(profile.operators)
    # Beyond a timed call and the profiler it waited, for code that is nobody's: a loaded machine.
    longest = LONGER * timed_ns + EVENT_NS * n_operators
    total = max(min(profile.wall_ns, longest), 1.0)
    library = sum(
        ns for name, ns in profile.operators if name.startswith(("aten::", COMPILED_REGION))
    )
    return 1 - min(library + EVENT_NS * n_operators, total) / total
