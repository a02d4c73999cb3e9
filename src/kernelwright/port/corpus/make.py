"""A corpus made from a tree of CUDA sources; it resumes where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import DialectError, UsageError
from kernelwright.dataset.parquet import arrow
from kernelwright.dialects.amdgpu import compile_missing
from kernelwright.port.corpus.duplicates import SourceIndex
from kernelwright.port.corpus.pair import PortPair, Reject, make_pair
from kernelwright.port.corpus.provenance import provenance
from kernelwright.port.corpus.store import Store
from kernelwright.port.project import DEFAULT_TARGETS, check_targets


@dataclass(frozen=True)
class Corpus:
    """The result of making a corpus from a tree."""

    pairs: tuple[PortPair, ...]
    rejects: tuple[Reject, ...]
    folder: Path


def make_corpus(
    tree: str | Path,
    *,
    out: str | Path,
    targets: Sequence[str] = DEFAULT_TARGETS,
    licences: Sequence[str] = (),
    emulate: bool = True,
    command: str = "kernelwright port-corpus",
    on_done: Callable[[PortPair | Reject], None] = lambda row: None,
) -> Corpus:
    """Write every ``.cu`` file under ``tree`` to ``out`` as a verified pair or a rejection.

    With ``licences`` (SPDX names), sources under other licences are rejected. ``emulate`` runs
    programs that have a main function on this machine's CPU. Rows are stored one by one: the same
    call resumes where an earlier one was stopped, and remakes rows whose source has changed.

    Raises:
        UsageError: no such tree, nothing in it, an unknown target, a foreign README.md in ``out``,
            or
            no pyarrow.
        DialectError: this machine cannot compile HIP, so nothing could be verified.
    """
    check_targets(targets)
    arrow()
    if missing := compile_missing():
        raise DialectError.of_missing("pairs cannot be verified here", missing)
    root, store, index = Path(tree), Store(Path(out)), SourceIndex()
    sources = sorted(path for path in root.rglob("*.cu") if path.is_file())
    if not sources:
        raise UsageError("no .cu files in the tree", seen=str(root), do="name another folder")
    rows: list[PortPair | Reject] = []
    for path in sources:
        row = _row(
            path, root, store, index, _CorpusOptions(tuple(targets), tuple(licences), emulate)
        )
        rows.append(row)
        on_done(row)
    pairs = tuple(row for row in rows if isinstance(row, PortPair))
    rejects = tuple(row for row in rows if isinstance(row, Reject))
    store.write(pairs, rejects, command)
    return Corpus(pairs, rejects, store.folder)


@dataclass(frozen=True)
class _CorpusOptions:
    targets: tuple[str, ...]
    licences: tuple[str, ...]
    emulate: bool


def _row(
    path: Path, root: Path, store: Store, index: SourceIndex, options: _CorpusOptions
) -> PortPair | Reject:
    name = str(path.relative_to(root))
    if path.is_symlink():
        return Reject(name, "read", "a symbolic link; its target is a source of its own")
    try:
        text = path.read_text(errors="replace")
        origin = provenance(path, root)
    except OSError as error:
        return Reject(name, "read", str(error))
    if options.licences and origin.licence not in options.licences:
        return Reject(name, "licence", origin.licence)
    if found := index.add(name, text):
        return Reject(name, "duplicate", f"of {found[0]}, similarity {found[1]:.2f}")
    key = store.key(name, text, vars(origin), options.targets, options.emulate)
    row = store.get(key)
    if row is None:
        row = make_pair(
            path, tree=root, origin=origin, targets=options.targets, emulate=options.emulate
        )
        store.put(key, row)
    return row
