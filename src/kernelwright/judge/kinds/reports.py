"""Reports of a child about its own kernels, checked for their form.

All of it is a stranger's word. It decides nothing about passing.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

Amount = Annotated[float, msgspec.Meta(ge=0.0, le=1e18)]
"""A number that is neither NaN nor infinite."""
Facts = dict[str, Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)] | str]


class Profile(msgspec.Struct, frozen=True):
    """One call under the child's profiler: names with nanoseconds."""

    wall_ns: Amount
    operators: list[tuple[str, Amount]]
    kernels: list[tuple[str, Amount]]


class Resources(msgspec.Struct, frozen=True):
    """Reports of compilers and profilers, by kernel; a launch has a name, nanoseconds and facts."""

    compiled: dict[str, Facts]
    launches: list[tuple[str, Amount, Facts]]
    counters: dict[str, Facts]


class Count(msgspec.Struct, frozen=True):
    """The arithmetic of the library's operators in one call."""

    flops: Amount


Report = TypeVar("Report", Profile, Resources, Count)


def read(kind: type[Report], said: Any) -> Report | None:
    """Return a report of this kind; None if the child said something else."""
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError:
        return None
