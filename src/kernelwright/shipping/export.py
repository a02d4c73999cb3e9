"""``kernelwright export``: a judged kernel as a package of another format."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from kernelwright.core.errors import UsageError, nearest
from kernelwright.shipping.shipment import Shipment, default_name
from kernelwright.shipping.source import Source

FORMATS = {
    "op": "a package for pip, with the kernels as torch.library operators",
    "hf": "a package for Hugging Face's kernels",
    "fib": "a solution of FlashInfer-Bench, with definition, workload and trace",
}
LICENSE = "Apache-2.0"


def export(
    source: Source, *, to: str, out: Path | str, name: str | None = None, license: str = LICENSE
) -> Path:
    """Write the package to the folder ``out``, which is made; ``to`` is one of ``FORMATS``.

    Raises:
        UsageError: the format is unknown, the folder holds something, the name is taken, or the
            kernel cannot be in this format. Nothing has been written then.
        OSError: the folder cannot be written.
    """
    if to not in FORMATS:
        raise UsageError(f'no format is called "{to}"', seen=to, do=nearest(to, FORMATS))
    out = Path(out)
    require_empty(out)
    task = source.receipt.task
    shipment = Shipment(source.receipt, name or default_name(task), license, source.lineage)
    _write(_writer(to)(shipment), out)
    return out


def _writer(to: str) -> Callable[[Shipment], dict[str, str | bytes]]:
    from kernelwright.shipping import layers, operators, solutions

    return {"op": operators.files, "hf": layers.files, "fib": solutions.files}[to]


def require_empty(out: Path) -> None:
    """See that a folder is free to be written.

    Raises:
        UsageError: something is there.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            f"{out} is there already",
            seen="a folder that is not empty" if out.is_dir() else "a file",
            do="name a new folder with --out",
        )


def _write(files: Mapping[str, str | bytes], out: Path) -> None:
    """Write a whole folder or nothing."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".export-", dir=out.parent))
    try:
        for name, content in files.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content.encode("utf-8") if isinstance(content, str) else content
            path.write_bytes(data)
        partial.chmod(0o755)
        partial.replace(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
