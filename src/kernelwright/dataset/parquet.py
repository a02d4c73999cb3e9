"""pyarrow, asked for where tables are read or written, and text as it can hold it."""

from __future__ import annotations

from typing import Any

from kernelwright.core.errors import UsageError

REMEDY = 'run: pip install "kernelwright[data]"'


def arrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(
            "Parquet is read and written with pyarrow", seen=str(error), do=REMEDY
        ) from error
    return pyarrow, pyarrow.parquet


def clean(value: Any) -> Any:
    """Text without the lone surrogates that a file in another encoding leaves."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    return [clean(v) for v in value] if isinstance(value, (list, tuple)) else value
