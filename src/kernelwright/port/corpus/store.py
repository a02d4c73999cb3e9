"""A corpus on disk: rows as they are made, then two Parquet tables and a data card."""

from __future__ import annotations

import importlib.metadata
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from kernelwright.core.digest import digest
from kernelwright.core.places import written_whole
from kernelwright.dataset import cards
from kernelwright.dataset.parquet import arrow, clean
from kernelwright.port.corpus.pair import Assembly, Header, PortPair, Reject

PAIRS, REJECTS = "pairs.parquet", "rejects.parquet"
ROWS = ".rows"


class Store:
    """The folder of a corpus. Rows survive an interruption; the tables are written from all of
    them."""

    def __init__(self, folder: Path) -> None:
        cards.require_place(folder)
        self.folder = folder
        self._rows = folder / ROWS
        self._rows.mkdir(parents=True, exist_ok=True)

    def key(self, *parts: Any) -> str:
        """Return the name of the row for these parts, this version of the translator and these
        columns."""
        version = importlib.metadata.version("kernelwright")
        columns = [column.name for column in fields(PortPair)]
        return digest("corpus", version, columns, *parts).removeprefix("b2:")

    def get(self, key: str) -> PortPair | Reject | None:
        """Return the row stored under ``key``, a pair or a rejection; None if it has not been
        made."""
        path = self._rows / f"{key}.json"
        if not path.exists():
            return None
        row = json.loads(path.read_text())
        return Reject(**row) if "stage" in row else _pair(row)

    def put(self, key: str, row: PortPair | Reject) -> None:
        """Store a row; an interruption in the middle leaves none."""
        with written_whole(self._rows / f"{key}.json") as partial:
            partial.write_text(json.dumps(asdict(row), default=str))

    def write(self, pairs: Sequence[PortPair], rejects: Sequence[Reject], command: str) -> None:
        """Write the two tables and the card that describes them.

        Raises:
            UsageError: pyarrow is not installed.
        """
        _, parquet = arrow()
        tables = {PAIRS: _table(PortPair, pairs), REJECTS: _table(Reject, rejects)}
        for name, table in tables.items():
            with written_whole(self.folder / name) as partial:
                parquet.write_table(table, partial, compression="zstd")
        _write_card(self.folder, pairs, rejects, command)


def _pair(stored: dict[str, Any]) -> PortPair:
    """Read a pair stored as JSON, which has lists for tuples and objects for rows."""
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    values["headers"] = tuple(Header(**row) for row in stored["headers"])
    values["assembly"] = tuple(Assembly(**row) for row in stored["assembly"])
    return PortPair(**values)


def _table(kind: type, rows: Sequence[Any]) -> Any:
    pa, _ = arrow()
    texts = pa.list_(pa.string())
    header = pa.struct([(name, pa.string()) for name in ("path", "cuda", "hip")])
    assembly = pa.struct([(name, pa.string()) for name in ("arch", "kind", "text")])
    special = {
        "headers": pa.list_(header),
        "assembly": pa.list_(assembly),
        "kernels": texts,
        "notes": texts,
        "targets": texts,
    }
    schema = [
        (f.name, special.get(f.name, pa.int32() if f.type == "int" else pa.string()))
        for f in fields(kind)
    ]
    return pa.Table.from_pylist(list(_plain_rows(rows)), schema=pa.schema(schema))


def _plain_rows(rows: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield rows as Parquet takes them: a kernel's resources are JSON, because their keys vary."""
    for row in rows:
        values = asdict(row)
        if "resources" in values:
            values["resources"] = json.dumps(values["resources"])
        yield {k: clean(v) for k, v in values.items()}


def _write_card(
    folder: Path, pairs: Sequence[PortPair], rejects: Sequence[Reject], command: str
) -> None:
    cards.write(
        folder,
        "kernelwright.port.corpus",
        "card.md.j2",
        pairs=pairs,
        rejects=rejects,
        command=command,
        licences=Counter(pair.licence for pair in pairs).most_common(),
        origins=Counter((pair.origin, pair.commit) for pair in pairs).most_common(),
        verified=Counter(pair.verified for pair in pairs).most_common(),
        stages=Counter(reject.stage for reject in rejects).most_common(),
        kinds=Counter((a.arch, a.kind) for pair in pairs for a in pair.assembly),
    )
