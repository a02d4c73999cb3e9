"""An exam for checkpoints: problems of KernelBench with axes halved until they are quickly judged.

    python benchmarks/training_exam.py KernelBench exam --shards 4 [--rest]
    kernelwright bench --suite kernelbench --path exam/0 --levels 1,2 --device cuda --policy …

Problems without convolutions (no lesson teaches them), drawn at random by a fixed seed, 40 of level
1 and 24 of level 2; with --rest those that are left by that draw: lessons were written after
reading what a model answered to the drawn ones (docs/lab, 2026-11-23). At their real sizes some
take 6 GB and a minute to judge. The numbers in a file's own lines are halved, the largest first,
until inputs, weights and results take --bytes at most: large enough for a GPU's time to be that of
the kernels. Of such a line a comment is lost; nothing else of a file changes.
"""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import click
import torch

COUNTS = {1: 40, 2: 24}
WITHOUT = "conv"
SHORTEST = 64
"""What is shorter is left as it is: groups, edges of kernels, heads."""


def sizes(text: str) -> dict[str, tuple[int, Any]]:
    """The line and the value of every whole number, or tuple of some, that a line of the file's own
    names."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            value = _value(node.value)
            is_line = node.lineno == node.end_lineno
            if isinstance(target, ast.Name) and value is not None and is_line:
                found[target.id] = (node.lineno, value)
    return found


def _value(node: ast.expr) -> int | tuple[int, ...] | None:
    """A whole number, a product of some, or a tuple of some; None where it is anything else."""
    if not isinstance(node, ast.Constant | ast.BinOp | ast.Tuple):
        return None
    try:
        value = eval(compile(ast.Expression(node), "size", "eval"), {"__builtins__": {}})
    except NameError:
        return None
    numbers = value if isinstance(value, tuple) else (value,)
    return value if all(type(n) is int for n in numbers) else None


def halved(value: int | tuple[int, ...]) -> int | tuple[int, ...]:
    if isinstance(value, tuple):
        return tuple(halved(n) for n in value)
    return value // 2 if value >= SHORTEST else value


def largest(value: int | tuple[int, ...]) -> int:
    return max(value) if isinstance(value, tuple) else value


def weight(text: str) -> int:
    """Bytes of inputs, weights and results, none of which takes memory."""
    space: dict[str, Any] = {"__name__": "problem"}
    exec(compile(text, "problem", "exec"), space)
    with torch.device("meta"):
        model = space["Model"](*space["get_init_inputs"]())
        inputs = space["get_inputs"]()
        got = model(*inputs)
    results = got if isinstance(got, tuple | list) else [got]
    held = [*inputs, *model.parameters(), *results]
    return sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor))


def cut(text: str, most_bytes: int) -> str | None:
    """The problem with shorter axes; None where that cannot be done."""
    lines, known = text.splitlines(), sizes(text)
    while weight("\n".join(lines)) > most_bytes:
        name = max(known, key=lambda name: largest(known[name][1]), default=None)
        if name is None or largest(known[name][1]) < SHORTEST:
            return None
        line, value = known[name]
        known[name] = line, halved(value)
        lines[line - 1] = f"{name} = {known[name][1]!r}"
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--bytes", "most_bytes", default=96 << 20, show_default=True)
@click.option("--shards", default=1, show_default=True, help="Folders OUT/0, OUT/1, …: a GPU each.")
@click.option("--rest", is_flag=True, help="The problems that are not drawn without it.")
def main(checkout: Path, out: Path, most_bytes: int, shards: int, *, rest: bool) -> None:
    """Write the exam, and say what could not be made shorter."""
    if out.exists() and any(out.iterdir()):
        raise click.UsageError(f"{out} is not empty: name another folder, or remove it")
    chosen: list[tuple[int, Path, str]] = []
    for level, count in COUNTS.items():
        found = []
        files = (checkout / "KernelBench" / f"level{level}").glob("*.py")
        for file in sorted(files, key=lambda file: int(file.name.partition("_")[0])):
            text = file.read_text()
            if WITHOUT in text.lower():
                continue
            try:
                shorter = cut(text, most_bytes)
            except Exception as error:  # its numbers depend on one another, in whatever way
                click.echo(f"left out: {file.name}: {str(error).splitlines()[0][:100]}", err=True)
                continue
            if shorter is None:
                click.echo(f"left out: {file.name}: no axis is left to halve", err=True)
            else:
                found.append((level, file, shorter))
        drawn = random.Random(f"exam {level}").sample(found, min(count, len(found)))
        chosen += [one for one in found if one not in drawn] if rest else drawn
    for number, (level, file, text) in enumerate(chosen):
        folder = out / str(number % shards) / f"level{level}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.name).write_text(text)
    click.echo(f"{len(chosen)} problems in {shards} folders of {out}")


if __name__ == "__main__":
    main()
