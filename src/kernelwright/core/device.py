"""Device: what code runs on or is compiled for."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from kernelwright.core.errors import UsageError, nearest

KINDS = ("cpu", "cuda", "hip", "metal")
JUDGED = ("cpu", "cuda", "metal")
"""The kinds of device that candidates can be judged on; code can be compiled for the others."""
EMULATED = "emulated"
"""The architecture of a GPU that this machine lacks: a CPU runs its kernels."""
BUILT_TOGETHER = 4
"""Candidates that a GPU's search builds at a time, to judge the fastest of them: what a proposer
begins with should fill them. Two to eight seconds each, and a search has few."""
_PATTERN = re.compile(r"(?P<kind>[a-z]+)(:(?P<arch>[a-z][a-z_0-9]*))?(:(?P<index>\d+))?")


@dataclass(frozen=True)
class Device:
    """``cpu``, ``cuda:sm_90``, ``hip:gfx942``, ``metal:apple9``; ``cuda:1`` is the second GPU."""

    kind: str
    arch: str = ""
    index: int = 0

    @classmethod
    def parse(cls, text: str) -> Device:
        """The device that ``text`` names.

        Raises:
            UsageError: not a device; the message names the nearest kind.
        """
        match = _PATTERN.fullmatch(text)
        if match is None or match["kind"] not in KINDS:
            raise UsageError(
                f'"{text}" is not a device',
                seen=text,
                do=nearest(text.split(":")[0], KINDS) + " (for example cpu, cuda, cuda:1)",
            )
        return cls(match["kind"], match["arch"] or "", int(match["index"] or 0))

    @property
    def torch_name(self) -> str:
        """The device's name in torch: HIP builds of torch call theirs ``cuda``."""
        if self.kind == "cpu" or self.arch == EMULATED:
            return "cpu"
        if self.kind == "metal":
            return "mps"
        return f"cuda:{self.index}"

    @property
    def torch_kind(self) -> str:
        """The type of device in torch for which code is written, emulated or not."""
        return {"hip": "cuda", "metal": "mps"}.get(self.kind, self.kind)

    @property
    def key(self) -> str:
        """What archives and reports know it by: GPUs of one architecture are the same."""
        return str(replace(self, index=0))

    def __str__(self) -> str:
        text = f"{self.kind}:{self.arch}" if self.arch else self.kind
        return f"{text}:{self.index}" if self.index else text


def require_judged(device: Device) -> None:
    """Check that candidates can be judged on this kind of device.

    Raises:
        UsageError: they cannot.
    """
    if device.kind not in JUDGED:
        raise UsageError(
            f"candidates cannot be judged on {device.kind}",
            seen=str(device),
            do=f"use --device {' or '.join(JUDGED)}; `kernelwright port` translates for AMD GPUs",
        )
