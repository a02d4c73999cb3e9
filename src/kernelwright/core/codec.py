"""Core's nouns as plain data and back: what archives, receipts, reports and datasets share.

Source:
    msgspec, which reads the fields and their types from the dataclasses themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def plain(noun: Any) -> dict[str, Any]:
    """A noun as dictionaries, lists, texts, numbers and None, by the names of its fields. Bytes are
    in base64; a code is its text. NaN and infinities stay: JSON has none of them."""
    # By itself msgspec leaves out the fields that stand at their defaults.
    facts: dict[str, Any] = msgspec.to_builtins(asdict(noun))
    return facts


def rebuilt(kind: type[T], facts: Any) -> T:
    """The noun of this kind that ``plain`` gave these facts of. Names of no field are passed over.

    Raises:
        ValueError: a field is missing, has another type, or does not fit the others.
    """
    return msgspec.convert(facts, kind)


def columns(noun: Any) -> dict[str, Any]:
    """A noun as a row of a database: like ``plain``, with bytes as they are."""
    row: dict[str, Any] = msgspec.to_builtins(asdict(noun), builtin_types=(bytes,))
    return row


def from_columns(kind: type[T], row: Mapping[Any, Any]) -> T:
    """The noun of this kind in a row.

    Raises:
        ValueError: as for ``rebuilt``.
    """
    # SQLAlchemy's names of columns are a kind of str of their own, which msgspec takes for none.
    facts = {str(name): value for name, value in row.items()}
    return msgspec.convert(facts, kind, builtin_types=(bytes,))
