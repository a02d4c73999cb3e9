"""Training pairs on disk: prompts with the answers to learn, and the judge's verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.places import written_whole
from kernelwright.dataset.parquet import arrow, clean

FILE = "pairs.parquet"
SPLITS = ("train", "validation")
MEASURED = "measured"
"""The status of a kernel that the tuner found right and timed: its program is a lesson's, or the
judge has passed it under another schedule."""


@dataclass(frozen=True)
class Pair:
    """One judged candidate of one task."""

    task_digest: str
    task_name: str
    task_source: str
    dialect: str
    device: str
    """The device that it was judged on: 'cpu', 'cuda:sm_90'."""
    prompt: tuple[tuple[str, str], ...]
    """(role, text) of every message, in the form of the swarm's prompts."""
    answer: str
    """Performance analysis, algorithm design and code."""
    code: str
    status: str
    """The judge's, or ``MEASURED``."""
    kinds: tuple[str, ...]
    speedup: float | None
    """Median speedup against the strongest library setting, or for ``MEASURED`` against eager; None
    if it was not timed."""
    speedup_low: float | None
    speedup_high: float | None
    """The upper end of the speedup's 95 % interval; ``speedup_low`` is the lower end."""
    origin: str
    """The proposer."""
    split: str
    provenance: str
    """JSON with the archive, candidate, lineage, schedule, judge, machine and licence."""


def open_pairs(path: str | Path, split: str | None = None) -> list[Pair]:
    """Read the pairs from a dataset's folder or table; all of them, or those of one split.

    Raises:
        UsageError: there is no such table or split, the table has other columns, or pyarrow is
            missing.
    """
    if split is not None and split not in SPLITS:
        raise UsageError(f'no split "{split}"', seen=split, do=nearest(split, SPLITS))
    pa, parquet = arrow()
    table = Path(path) / FILE if Path(path).is_dir() else Path(path)
    wanted = [field.name for field in fields(Pair)]
    try:
        rows = parquet.read_table(table, columns=wanted).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UsageError(
            f"{path} contains no training pairs",
            seen=str(error).partition("\n")[0],
            do="name a folder that `kernelwright dataset build` wrote",
        ) from error
    return [_pair(row) for row in rows if split in (None, row["split"])]


def write_pairs(pairs: Sequence[Pair], folder: Path) -> Path:
    """Write the table to ``folder`` and return its path.

    Raises:
        UsageError: pyarrow is not installed.
    """
    pa, parquet = arrow()
    folder.mkdir(parents=True, exist_ok=True)
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    special = {
        "prompt": pa.list_(message),
        "kinds": pa.list_(pa.string()),
        "speedup": pa.float64(),
        "speedup_low": pa.float64(),
        "speedup_high": pa.float64(),
    }
    schema = pa.schema([(f.name, special.get(f.name, pa.string())) for f in fields(Pair)])
    table = pa.Table.from_pylist([_row(pair) for pair in pairs], schema=schema)
    with written_whole(folder / FILE) as partial:
        parquet.write_table(table, partial, compression="zstd")
    return folder / FILE


def _row(pair: Pair) -> dict[str, Any]:
    messages = [{"role": role, "content": text} for role, text in pair.prompt]
    return clean(asdict(pair) | {"prompt": messages})


def _pair(row: dict[str, Any]) -> Pair:
    prompt = tuple((message["role"], message["content"]) for message in row["prompt"])
    return Pair(**row | {"prompt": prompt, "kinds": tuple(row["kinds"])})
