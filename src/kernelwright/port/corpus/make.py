"""A corpus made from a tree of CUDA sources; it resumes where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelwright.core.errors import DialectError, UsageError
from kernelwright.dataset.parquet import arrow
from kernelwright.dialects.amdgpu import compile_missing
from kernelwright.judge import SharedForkServer
from kernelwright.port.corpus.duplicates import SourceIndex
from kernelwright.port.corpus.pair import PortPair, Reject, Sources, make_pair, read_sources
from kernelwright.port.corpus.provenance import provenance
from kernelwright.port.corpus.store import Store
from kernelwright.port.project import DEFAULT_TARGETS, check_targets
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import Workers


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
    workers: Workers | None = None,
) -> Corpus:
    """Write every ``.cu`` file under ``tree`` to ``out`` as a verified pair or a rejection.

    With ``licences`` (SPDX names), sources under other licences are rejected. ``emulate`` runs
    programs that have a main function on a CPU. Rows are stored one by one: the same call resumes
    where an earlier one was stopped, and remakes rows whose source has changed. ``workers`` make
    the pairs, such as those of a cluster; None: this process does, one after the other.

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
    options = _CorpusOptions(tuple(targets), tuple(licences), emulate)
    asked = (_sources(path, root, index, options) for path in sources)
    rows: list[PortPair | Reject | None] = []
    if workers is None:
        for each in asked:
            rows.append(_row(each, store, options))
            on_done(rows[-1])
    else:
        rows = side_by_side(
            partial(_row, store=store, options=options, workers=workers),
            asked,
            jobs=workers.jobs,
            on_done=on_done,
            on_interrupt=workers.interrupt,
        )
        if None in rows:  # the others are stored
            raise KeyboardInterrupt
    pairs = tuple(row for row in rows if isinstance(row, PortPair))
    rejects = tuple(row for row in rows if isinstance(row, Reject))
    store.write(pairs, rejects, command)
    return Corpus(pairs, rejects, store.folder)


@dataclass(frozen=True)
class _CorpusOptions:
    targets: tuple[str, ...]
    licences: tuple[str, ...]
    emulate: bool


def _sources(
    path: Path, root: Path, index: SourceIndex, options: _CorpusOptions
) -> Sources | Reject:
    """Read a source with its headers, or say why it is left out unread."""
    name = str(path.relative_to(root))
    if path.is_symlink():
        return Reject(name, "read", "a symbolic link; its target is a source of its own")
    try:
        sources = read_sources(path, root, provenance(path, root))
    except OSError as error:
        return Reject(name, "read", str(error))
    if options.licences and sources.origin.licence not in options.licences:
        return Reject(name, "licence", sources.origin.licence)
    if found := index.add(name, sources.text):
        return Reject(name, "duplicate", f"of {found[0]}, similarity {found[1]:.2f}")
    return sources


def _row(
    asked: Sources | Reject,
    store: Store,
    options: _CorpusOptions,
    workers: Workers | None = None,
) -> PortPair | Reject:
    """The row of a source: the one that is stored, or a new one."""
    if isinstance(asked, Reject):
        return asked
    origin, targets, emulate = vars(asked.origin), options.targets, options.emulate
    key = store.key(asked.name, asked.text, origin, targets, emulate)
    row = store.get(key)
    if row is None:
        make = partial(make_pair, asked, targets=targets, emulate=emulate)
        row = make() if workers is None else _made_by(workers, make, asked.name)
        store.put(key, row)
    return row


def _made_by(
    workers: Workers, make: Callable[[], PortPair | Reject], name: str
) -> PortPair | Reject:
    work = partial(_without_judge, make)
    ending = workers.run(work, preload=(__name__,), needs_device=False)
    row: PortPair | Reject = ending.get(f"the port of {name}", do="port this file alone")
    return row


def _without_judge(
    make: Callable[[], PortPair | Reject], fork_server: SharedForkServer
) -> PortPair | Reject:
    return make()
