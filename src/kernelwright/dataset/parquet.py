"""Imports pyarrow on demand, and cleans text that Parquet cannot store."""

from __future__ import annotations

from typing import Any

from kernelwright.core.errors import UsageError

REMEDY = 'run: pip install "kernelwright[data]"'


def arrow() -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(
            "reading and writing Parquet needs pyarrow", seen=str(error), do=REMEDY
        ) from error
    return pyarrow, pyarrow.parquet


def clean(value: Any) -> Any:
    """Replace lone surrogates, which come from files in other encodings, in a value's texts."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    return [clean(v) for v in value] if isinstance(value, (list, tuple)) else value
