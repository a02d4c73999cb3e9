"""Sizes that follow a call's inputs: integers that know the expression that gives them.

A program is captured with concrete sizes, and everything after that computes with integers. To
leave a dimension free, the program is made a second time with another size there, and the two are
compared: an integer that differs must be a multiple of the free size, and becomes a ``Size``. It
counts as an ``int`` of one example, and text that it is written into says the expression. Text that
an emitter makes from it holds for all sizes if it is the same for two examples: an emitter's
decision that hung on the example would show.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

NAMES = ("n_batch", "n_tokens")
"""The names of the free sizes: those of an input's first and second dimension."""
_MOST_POWER = 2
"""Highest power of a free size in one integer: a table of all pairs of rows has the second."""
Structure = TypeVar("Structure")


class Follows(Exception):
    """Two programs differ in more than multiples of the free sizes."""


class NotFree(Exception):
    """Text needs the number in place of the expression of a size."""


class Size(int):
    """An integer of one example, and the expression that gives it for any: ``str(size)``."""

    text: str
    factors: tuple[str, ...]
    """The names of the free sizes that it is a multiple of; () for other expressions."""

    def __new__(cls, value: int, text: str, factors: tuple[str, ...] = ()) -> Size:
        size = super().__new__(cls, value)
        size.text, size.factors = text, factors
        return size

    @classmethod
    def of(cls, coefficient: int, factors: Iterable[str], example: Mapping[str, int]) -> Size:
        """``coefficient`` times the named sizes."""
        names = tuple(sorted(factors))
        text = " * ".join([*names, *([str(coefficient)] if coefficient != 1 else [])])
        value = coefficient * math.prod(example[name] for name in names)
        return cls(value, f"({text})" if " " in text else text, names)

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.text, spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (int(self), self.text, self.factors)

    def __mul__(self, other: int) -> int:  # type: ignore[override]
        if not isinstance(other, int):
            return NotImplemented
        if not int(other):
            return 0
        mine, others = self.coefficient, getattr(other, "factors", ())
        theirs = other.coefficient if isinstance(other, Size) else int(other)
        value = int(self) * int(other)
        if mine is None or theirs is None:
            return self if value == int(self) else Size(value, f"({self} * {other})")
        example = dict.fromkeys((*self.factors, *others), 1)
        whole = Size.of(mine * theirs, (*self.factors, *others), example)
        return Size(value, whole.text, whole.factors)

    __rmul__ = __mul__

    @property
    def coefficient(self) -> int | None:
        """The integer that the named sizes are multiplied with; None for other expressions."""
        if not self.factors:
            return None
        last = self.text.strip("()").rpartition(" * ")[2]
        return 1 if last in self.factors else int(last)

    def __neg__(self) -> int:
        if self.text.startswith("-") and "//" in self.text:  # a quotient rounded up
            return Size(-int(self), f"-({self.text})")
        return Size(-int(self), f"-{self.text}")

    def __floordiv__(self, other: int) -> int:  # type: ignore[override]
        text = f"{self} // {other}"
        return Size(int(self) // int(other), text if text.startswith("-") else f"({text})")

    def __mod__(self, other: int) -> int:  # type: ignore[override]
        return Size(int(self) % int(other), f"({self} % {other})")

    def __add__(self, other: int) -> int:  # type: ignore[override]
        return Size(int(self) + int(other), f"({self} + {other})") if int(other) else self

    def __radd__(self, other: int) -> int:  # type: ignore[override]
        return Size(int(self) + int(other), f"({other} + {self})") if int(other) else self

    def __sub__(self, other: int) -> int:  # type: ignore[override]
        return Size(int(self) - int(other), f"({self} - {other})") if int(other) else self

    def __rsub__(self, other: int) -> int:  # type: ignore[override]
        return Size(int(other) - int(self), f"({other} - {self})")


def is_free(size: int) -> bool:
    """Whether a size follows a call's inputs."""
    return isinstance(size, Size)


def are_same(one: int, other: int) -> bool:
    """Whether two integers are equal for all free sizes."""
    return one == other and str(one) == str(other)


def smaller(one: int, other: int) -> int:
    """Return the smaller of two integers, in text for Python too."""
    if not (is_free(one) or is_free(other)):
        return min(one, other)
    return Size(min(int(one), int(other)), f"min({one}, {other})")


def number(size: int) -> int:
    """Return a size where text needs the number itself.

    Raises:
        NotFree: it follows a call's inputs.
    """
    if is_free(size):
        raise NotFree(str(size))
    return size


def fixed_only(structure: Structure) -> Structure:
    """Return ``structure``, which text needs without free sizes.

    Raises:
        NotFree: it has some.
    """
    if names := names_in(structure):
        raise NotFree(" and ".join(names))
    return structure


@functools.cache
def _fields_of(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields; none of another type."""
    return tuple(field.name for field in getattr(kind, "__dataclass_fields__", {}).values())


def names_in(structure: Any) -> tuple[str, ...]:
    """Return the names of the free sizes that a structure follows, in order."""
    found: set[str] = set()

    def note(value: Any) -> None:
        if isinstance(value, Size):
            found.update(value.factors)
        elif isinstance(value, (list, tuple)):
            for part in value:
                note(part)
        elif isinstance(value, dict):
            note(list(value.values()))
        else:
            for name in _fields_of(type(value)):
                note(getattr(value, name))

    note(structure)
    return tuple(name for name in NAMES if name in found)


def free_reaches(tensors: Iterable[Any]) -> list[Size]:
    """Return how far into memory tensors with free sizes reach, in elements: for each combination
    of free sizes the farthest, or a little more."""
    found: dict[tuple[str, ...], Size] = {}
    for tensor in tensors:
        for size, stride in zip(tensor.shape, tensor.strides, strict=True):
            reach = size * stride
            if isinstance(reach, Size):
                known = found.setdefault(reach.factors, reach)
                found[reach.factors] = max(known, reach)
    return list(found.values())


def following(
    one: Structure, other: Structure, first: Mapping[str, int], second: Mapping[str, int]
) -> Structure:
    """Return ``one`` with a ``Size`` in place of every integer that differs in ``other``.

    The two were made alike, with the free sizes ``first`` and ``second``; those of ``second`` are
    different primes.

    Raises:
        Follows: the structures differ in more than multiples of the free sizes.
    """

    def change(before: Any, after: Any) -> Any:
        if type(before) is not type(after):
            raise Follows(f"{before!r} and {after!r}"[:200])
        match before:
            case bool() | str() | None:
                pass
            case int():
                return before if before == after else _multiple(before, after, first, second)
            case list() | tuple():
                if len(before) != len(after):
                    raise Follows(f"{before!r} and {after!r}"[:200])
                pairs = zip(before, after, strict=True)
                return type(before)([change(b, a) for b, a in pairs])
            case dict():
                if before.keys() != after.keys():
                    raise Follows(f"{list(before)} and {list(after)}"[:200])
                return {key: change(before[key], after[key]) for key in before}
            case _ if dataclasses.is_dataclass(before):
                return _with_fields(before, lambda name: change(*_both(before, after, name)))
        if before != after and not before != before:
            raise Follows(f"{before!r} and {after!r}"[:200])
        return before

    changed: Structure = change(one, other)
    return changed


def _both(before: Any, after: Any, name: str) -> tuple[Any, Any]:
    return getattr(before, name), getattr(after, name)


def _with_fields(value: Any, of: Any) -> Any:
    fields = {field.name: of(field.name) for field in dataclasses.fields(value) if field.init}
    return dataclasses.replace(value, **fields)


def _multiple(before: int, after: int, first: Mapping[str, int], second: Mapping[str, int]) -> Size:
    for powers in itertools.product(range(_MOST_POWER + 1), repeat=len(second)):
        factors = [n for n, power in zip(second, powers, strict=True) for _ in range(power)]
        coefficient, rest = divmod(after, math.prod(second[name] for name in factors))
        if factors and not rest and coefficient * math.prod(first[n] for n in factors) == before:
            return Size.of(coefficient, factors, first)
    raise Follows(f"{before} with {dict(first)}, {after} with {dict(second)}")


def with_example(structure: Structure, example: Mapping[str, int]) -> Structure:
    """Return ``structure`` with the free sizes of another example in every ``Size``."""

    def of_example(size: Size) -> Size:
        value = (size.coefficient or 0) * math.prod(example[name] for name in size.factors)
        return Size(value, size.text, size.factors)

    return _changed(structure, of_example)


def fixed(structure: Structure) -> Structure:
    """Return ``structure`` with the number of its example in place of every ``Size``."""
    return _changed(structure, int)


def _changed(structure: Structure, change: Callable[[Size], int]) -> Structure:
    def inside(value: Any) -> Any:
        match value:
            case Size():
                return change(value)
            case list() | tuple():
                return type(value)([inside(part) for part in value])
            case dict():
                return {key: inside(part) for key, part in value.items()}
            case _ if dataclasses.is_dataclass(value):
                return _with_fields(value, lambda name: inside(getattr(value, name)))
        return value

    changed: Structure = inside(structure)
    return changed


def next_prime(above: int, *others: int) -> int:
    """Return the smallest prime that is larger than ``above`` and none of ``others``."""
    number = max(above, 2) + 1
    while number in others or any(number % part == 0 for part in range(2, math.isqrt(number) + 1)):
        number += 1
    return number
