"""Saved: the kernels of a model in a folder, for use in another process."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from torch import nn

from kernelwright.core.digest import digest
from kernelwright.core.errors import TaskError
from kernelwright.models.swap import Swapped, put_in, take_out
from kernelwright.runtime.build import build
from kernelwright.runtime.calls import Call
from kernelwright.runtime.dispatch import Key

if TYPE_CHECKING:
    from kernelwright.models.accelerate import Accelerated

MANIFEST = "accelerated.json"


class _Kernel(msgspec.Struct, frozen=True):
    """One kernel of one module."""

    path: str
    """The module's, in the model."""
    source: str
    """The file's name in the folder."""
    digest: str
    """Of the file's text."""
    serves: str
    """The inputs that it serves, as a Python literal of ``dispatch.Key``."""
    call: Call


class _Manifest(msgspec.Struct, frozen=True):
    model: str
    """The name of the model's class."""
    speedup: str
    form: str
    """The fastest form that was measured, as the names in ``forms``."""
    kernels: list[_Kernel]


def save(accelerated: Accelerated, folder: Path) -> Path:
    """Write the manifest and the kernels' files; return the folder.

    Raises:
        TaskError: there is nothing to save, or the folder holds something else.
    """
    if not accelerated.kernels:
        raise TaskError(
            "there is no kernel to save",
            seen=repr(accelerated),
            do="use the model as the library runs it",
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise TaskError(
            f"{folder} holds something else",
            seen=", ".join(sorted(path.name for path in folder.iterdir())[:5]),
            do="name a new folder",
        )
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for path, swapped in accelerated.kernels.items():
        for key, source in swapped.kernels.items():
            if ast.literal_eval(repr(key)) != key:
                raise TaskError(
                    f"the inputs of {path} cannot be written down",
                    seen=repr(key)[:200],
                    do="give numbers, texts, tuples and tensors as inputs",
                )
            shutil.copyfile(source, folder / source.name)
            whole = digest(source.read_text())
            rows.append(_Kernel(path, source.name, whole, repr(key), swapped.call))
    manifest = _Manifest(
        type(accelerated.model).__name__, str(accelerated.speedup), accelerated.form, rows
    )
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
    return folder


def load_accelerated(model: nn.Module, folder: Path | str, *, on_miss: str = "warn") -> nn.Module:
    """Put saved kernels into a model of the same kind, which is changed in place and returned.

    The kernels' files run in this process: load only folders that you trust.

    Raises:
        TaskError: the folder is no saved one, was changed, or is of another model.
    """
    folder = Path(folder)
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise TaskError(
            f"{folder} holds no accelerated model",
            seen=str(error)[:200],
            do="name a folder that Accelerated.save has written",
        ) from error
    if manifest.model != type(model).__name__:
        raise TaskError(
            "the kernels are of another model",
            seen=f"{manifest.model}, and not {type(model).__name__}",
            do="load them into a model of that class with the same configuration",
        )
    device = next((weight.device for weight in model.parameters()), None)
    kernels: dict[str, Swapped] = {}
    for row in manifest.kernels:
        source = folder / row.source
        if not source.is_file() or digest(source.read_text()) != row.digest:
            raise TaskError(
                f"{source} is not the file that was saved",
                seen="it is gone" if not source.is_file() else "its text was changed",
                do="save the accelerated model again",
            )
        kernel = build(source, on_miss=on_miss).to(device)
        swapped = kernels.setdefault(row.path, Swapped(row.call, dict[Key, nn.Module]()))
        swapped.kernels[ast.literal_eval(row.serves)] = kernel
    try:
        put_in(model, kernels, on_miss)
    except (AttributeError, RuntimeError, TaskError) as error:
        take_out(model, [path for path, _ in model.named_modules() if path in kernels])
        raise TaskError(
            "the kernels do not fit the model",
            seen=" ".join(str(error).split())[:300],
            do="load them into a model with the configuration that they were made for",
        ) from error
    return model
