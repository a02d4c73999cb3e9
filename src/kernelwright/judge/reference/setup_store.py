"""Results of a judge's work on one task, kept on disk for the next judge of that task.

Expected results in float64 take most of the time before a first verdict. They are found again by
content: the task, the environment without what follows from the task, and the judge's files. The
secret that all draws come from is kept with them, or no draw would come again; it is renewed after
some days. An entry is used only where inputs and weights are the same as when it was made.

No candidate can read or write the folder, which is closed to other users: a candidate is another
user, or sees an allow-list of files that the folder is not on. Where neither holds nothing is kept.
Entries are read as plain numbers and tensors; reading them runs nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
import pickle
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.core.task import Task
from kernelwright.judge.checks import Draw
from kernelwright.judge.compare.expected import Expected, Output
from kernelwright.judge.sandbox import isolation, landlock
from kernelwright.judge.sandbox.file_locks import users_folder
from kernelwright.judge.sandbox.fork_server import FIRST_UID
from kernelwright.judge.sandbox.layout import leaves

MOST_BYTES = 2 << 30
"""The size of all that is kept; what was not used for longest goes first."""
LEAST_S, BYTES_A_SECOND = 0.05, 100e6
"""An expectation that took less time than this, or this little for its size, is worked out anew:
reading it would take as long."""
LASTS_S = 7 * 86_400.0
"""The time after which a task's secret is drawn anew."""
SECRET = "secret"


@dataclasses.dataclass(frozen=True)
class StoredExpectation:
    """The expected result of the reference for one draw."""

    expected: Expected | None
    """None where it has no answer."""
    n_namings: int
    """The ways that were left then in which types asked for by name become float64."""


class SetupStore:
    """The kept set-up of one task in one environment."""

    def __init__(self, folder: Path | None) -> None:
        """``folder``: None keeps nothing."""
        self._folder = folder
        self._is_open = False
        self.secret = secrets.randbits(63)
        """The secret that all draws of the task come from."""
        if folder is not None:
            self._open(folder)

    @classmethod
    def of(cls, task: Task, facts: Mapping[str, Any]) -> SetupStore:
        """The store for a task; ``facts`` say what its results depend on besides.

        A task whose text imports files of the user's is not kept: they may change.
        """
        try:
            root = users_folder("setup")
        except DeviceError:
            return cls(None)
        if task.import_roots or not is_closed_to_candidates(root):
            return cls(None)
        _make_room(root)
        key = repr((task.digest, sorted(facts.items()), _judge_digest())).encode()
        return cls(root / hashlib.blake2b(key, digest_size=16).hexdigest())

    def read(self, draw: Draw, given: Any, device: str) -> StoredExpectation | None:
        """Return the expectation that was kept for a draw with these inputs and weights, if any."""
        if not self._is_open or (path := self._path(draw)) is None or not path.exists():
            return None
        try:
            kept: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
            if kept["given"] != fingerprint(given):
                return None
            return StoredExpectation(_expected(kept["expected"]), int(kept["n_namings"]))
        except (
            OSError,
            RuntimeError,
            ValueError,
            KeyError,
            TypeError,
            EOFError,
            pickle.UnpicklingError,
        ):
            return None  # half written, or of another version

    def keep(self, draw: Draw, given: Any, found: StoredExpectation, took_s: float) -> None:
        """Keep an expectation that was slow to work out.

        Units:
            ``took_s`` in seconds.
        """
        expected = found.expected
        tensors = (
            [one for output in expected.outputs for one in _tensors(output)] if expected else []
        )
        n_bytes = sum(one.numel() * one.element_size() for one in tensors)
        if self._folder is None or took_s < LEAST_S or n_bytes > BYTES_A_SECOND * took_s:
            return
        if not self._is_open and not self._make(self._folder):
            return
        path = self._path(draw)
        assert path is not None  # there is a folder
        partial = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        kept = {
            "given": fingerprint(given),
            "expected": _plain(expected),
            "n_namings": found.n_namings,
        }
        with contextlib.suppress(OSError):  # the disk is full
            torch.save(kept, partial)
            partial.replace(path)

    def _open(self, folder: Path) -> None:
        """Take the kept secret over if there is one that is not too old."""
        with contextlib.suppress(OSError, ValueError):
            about = folder / SECRET
            if time.time() - about.stat().st_mtime > LASTS_S:
                shutil.rmtree(folder)
                return
            self.secret, self._is_open = int(about.read_text()), True
            os.utime(folder)

    def _make(self, folder: Path) -> bool:
        """Make the folder with our secret; False if another judge has been quicker."""
        made = folder.with_name(f"{folder.name}-{secrets.token_hex(4)}")
        try:
            made.mkdir(mode=0o700)
            (made / SECRET).write_text(str(self.secret))
            made.rename(folder)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            self._folder = None
            return False
        self._is_open = True
        return True

    def _path(self, draw: Draw) -> Path | None:
        if self._folder is None:
            return None
        key = repr((draw.check.id, draw.seed, draw.turn, draw.shapes and draw.shapes.name)).encode()
        return self._folder / hashlib.blake2b(key, digest_size=16).hexdigest()


@functools.cache
def _judge_digest() -> str:
    """A digest of the judge's own files: any of them may change what is expected."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def is_closed_to_candidates(folder: Path) -> bool:
    """True if no candidate on this machine can reach a folder that is closed to other users."""
    if isolation.can_become(FIRST_UID):
        return True
    seen = isolation.library_folders()
    return landlock.version() > 0 and not any(folder.is_relative_to(one) for one in seen)


def fingerprint(given: Any) -> list[list[int]]:
    """Sums of the bits of all tensors, and how many there are. Equal where inputs and weights are;
    no protection against a task that wants it to be, which is trusted."""
    return [[one.numel(), _sum_of_bits(one)] for one in leaves(given) if one.numel()]


def _sum_of_bits(tensor: torch.Tensor) -> int:
    flat = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    flat = flat.detach().contiguous().flatten()
    if flat.dtype is torch.bool:
        return int(flat.sum())
    sizes = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return int(flat.view(sizes[flat.element_size()]).sum(dtype=torch.int64))


def _make_room(root: Path) -> None:
    """Remove the folders that were not used for longest where all are too large."""
    with contextlib.suppress(OSError):
        folders = sorted(root.iterdir(), key=lambda at: at.stat().st_mtime, reverse=True)
        n_bytes = 0
        for folder in folders:
            n_bytes += sum(at.stat().st_size for at in folder.iterdir())
            if n_bytes > MOST_BYTES:
                shutil.rmtree(folder, ignore_errors=True)


def _tensors(output: Output) -> list[torch.Tensor]:
    return [value for value in vars(output).values() if isinstance(value, torch.Tensor)]


def _plain(expected: Expected | None) -> dict[str, Any] | None:
    if expected is None:
        return None
    outputs = [dict(vars(output)) for output in expected.outputs]
    warnings = [(str(one.code), one.detail) for one in expected.warnings]
    return vars(expected) | {"outputs": outputs, "warnings": warnings}


def _expected(kept: dict[str, Any] | None) -> Expected | None:
    if kept is None:
        return None
    outputs = tuple(Output(**output) for output in kept["outputs"])
    codes = {str(code): code for code in WarningCode}
    warnings = tuple(Warned(codes[code], detail) for code, detail in kept["warnings"])
    return dataclasses.replace(
        Expected(outputs), **(kept | {"outputs": outputs, "warnings": warnings})
    )
