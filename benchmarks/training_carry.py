"""Carries what training made from one machine to the next: adapters in pieces, not checkpoints.

    python benchmarks/training_carry.py convert MODEL.gguf checkpoints/base
    kernelwright train sft --model checkpoints/base --dataset pairs --out sft
    python benchmarks/training_carry.py pack sft/sft/adapter pieces/sft --onto base
    python benchmarks/training_carry.py restore pieces checkpoints

``pack`` writes an adapter in bfloat16 as pieces of 15 MB with their SHA-256, and the name of the
checkpoint that it was trained on. ``restore`` checks the pieces and merges every adapter into its
checkpoint; what is there already stays. A checkpoint of 1.5 B is 3 GB, its adapter of rank 16 has
three pieces.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from pathlib import Path

import click

PIECE_BYTES = 15_000_000
ABOUT = "about.json"


@click.group()
def main() -> None:
    """Convert a model, pack an adapter, or restore all checkpoints."""


@main.command()
@click.argument("model")
@click.argument("out", type=click.Path(path_type=Path))
def convert(model: str, out: Path) -> None:
    """Write a .gguf file, or any model, as a checkpoint in bfloat16."""
    import torch

    from kernelwright.train.model import open_model, open_tokenizer, write

    if out.exists():
        return
    tokenizer = open_tokenizer(model)
    write(open_model(model, tokenizer, is_frozen=True).to(torch.bfloat16), tokenizer, out, out)


@main.command()
@click.argument("adapter", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--onto", required=True, help="Name of the checkpoint that it was trained on.")
def pack(adapter: Path, out: Path, onto: str) -> None:
    """Write an adapter as pieces to a folder, which is named as its checkpoint will be."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=packed, mode="w") as tar:
        narrow = Path(folder) / "adapter_model.safetensors"
        _narrowed(adapter / narrow.name, narrow)
        for path in (adapter / "adapter_config.json", narrow):
            tar.add(path, path.name)
    data = packed.getvalue()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for number, start in enumerate(range(0, len(data), PIECE_BYTES)):
        (out / f"{number:02d}").write_bytes(data[start : start + PIECE_BYTES])
    about = {"onto": onto, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (out / ABOUT).write_text(json.dumps(about) + "\n")
    click.echo(f"{out}: {len(data) / 1e6:.1f} MB")


def _narrowed(path: Path, out: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    save_file({name: x.to(torch.bfloat16) for name, x in load_file(path).items()}, out)


@main.command()
@click.argument("pieces", type=click.Path(path_type=Path, exists=True))
@click.argument("checkpoints", type=click.Path(path_type=Path, exists=True))
def restore(pieces: Path, checkpoints: Path) -> None:
    """Merge every adapter into its checkpoint, those first that others were trained on."""
    left = {path.parent.name: json.loads(path.read_text()) for path in pieces.glob(f"*/{ABOUT}")}
    while left:
        name = next(
            (n for n, about in left.items() if (checkpoints / about["onto"]).exists()), None
        )
        if name is None:
            raise click.ClickException(f"no checkpoint to merge {', '.join(left)} into")
        about = left.pop(name)
        if not (checkpoints / name).exists():
            _merge(pieces / name, about, checkpoints)
            click.echo(f"{checkpoints / name}: {about['onto']} with the adapter of {name}")


def _merge(pieces: Path, about: dict[str, str], checkpoints: Path) -> None:
    from peft import PeftModel

    from kernelwright.train.model import open_model, open_tokenizer, write

    data = b"".join(path.read_bytes() for path in sorted(pieces.glob("[0-9]*")))
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise click.ClickException(f"{pieces}: {len(data)} bytes, not the {about['bytes']} packed")
    base = str(checkpoints / about["onto"])
    tokenizer = open_tokenizer(base)
    model = open_model(base, tokenizer, is_frozen=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(folder, filter="data")
        write(
            PeftModel.from_pretrained(model, folder),
            tokenizer,
            checkpoints / pieces.name,
            Path(folder) / "again",
        )


if __name__ == "__main__":
    main()
