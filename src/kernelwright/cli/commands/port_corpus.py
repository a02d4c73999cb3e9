"""``kernelwright port-corpus``: a tree of CUDA sources into verified pairs of CUDA and HIP."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from kernelwright.cli.options import JSON, NODES, cluster_workers
from kernelwright.console.terminal import Answer
from kernelwright.core.secrets import command_line
from kernelwright.port.corpus import PortPair, Reject, make_corpus
from kernelwright.port.project import DEFAULT_TARGETS
from kernelwright.report.facts import one_line


@click.command("port-corpus")
@click.argument("tree", metavar="TREE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Write the pairs here.",
)
@click.option(
    "--arch",
    metavar="LIST",
    default=",".join(DEFAULT_TARGETS),
    show_default=True,
    help="Keep pairs that compile for these AMD targets.",
)
@click.option(
    "--licence",
    "licences",
    multiple=True,
    metavar="SPDX",
    help="Keep only sources under this licence; repeatable. Default: all.",
)
@click.option("--no-run", is_flag=True, help="Do not run programs on this CPU (rung 2).")
@NODES
@JSON
def command(
    tree: Path,
    out: Path,
    arch: str,
    licences: tuple[str, ...],
    no_run: bool,
    cluster: str | None,
    as_json: bool,
) -> Answer:
    """Port every .cu file under TREE and keep the verified pairs in DIR, as Parquet with a card.

    Programs that have a main function run under an emulation on this machine: use sources that you
    trust, or --no-run. The same command resumes where it was stopped.
    """
    with cluster_workers(cluster) as workers:
        corpus = make_corpus(
            tree,
            out=out,
            targets=[t.strip() for t in arch.split(",")],
            licences=licences,
            emulate=not no_run,
            on_done=_tell,
            command=command_line(),
            workers=workers,
        )
    verified = Counter(pair.verified for pair in corpus.pairs)
    stages = Counter(reject.stage for reject in corpus.rejects)
    licensed = Counter(pair.licence for pair in corpus.pairs)
    facts = {
        "out": str(out),
        "pairs": len(corpus.pairs),
        "verified": dict(verified),
        "licences": dict(licensed),
        "rejects": dict(stages),
    }
    table = Table("", "sources", box=None)
    for name, count in (*verified.most_common(), *stages.most_common()):
        table.add_row(f"verified: {name}" if name in verified else f"left out: {name}", str(count))
    written = Text(f"{len(corpus.pairs)} pairs in {out}; README.md there describes them")
    return Answer(facts, 0 if corpus.pairs else 1, [table, written])


def _tell(row: PortPair | Reject) -> None:
    said = row.verified if isinstance(row, PortPair) else f"{row.stage}: {row.reason}"
    click.echo(one_line(f"{row.path}: {said}", 160), err=True)
