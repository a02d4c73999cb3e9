"""A judged kernel on its way into a package: its receipt, its name there, and its provenance."""

from __future__ import annotations

import builtins
import importlib.metadata
import importlib.util
import json
import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kernelwright.archive.receipt import Receipt
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.loaders.training_step import ENTRY

RECEIPT, PROVENANCE = "receipt.json", "provenance.json"
"""The names of the two files in every package."""
LIBRARY = "torch"
"""The dialect of files that only call the library."""
_NAMESPACE = re.compile(r"\bkernels_[0-9a-f]{16}\b")
"""The namespace that an emitted file gives to its operators."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LICENSE = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")


@dataclass(frozen=True)
class Shipment:
    """One verdict under the name that its package gets.

    Raises:
        UsageError: the kernel is the library's own, did not pass, or cannot have this name or
            license.
    """

    receipt: Receipt
    name: str
    """The name of the package and of its operators, such as 'rms_gate'."""
    license: str
    """An SPDX expression."""
    lineage: tuple[str, ...] = ()
    """The rules that made the kernel, in the order in which they were applied."""

    def __post_init__(self) -> None:
        require_kernel(self.receipt)
        require_name(self.name)
        if not _LICENSE.fullmatch(self.license):
            raise UsageError(
                "the license is no SPDX expression",
                seen=self.license[:80],
                do="name it as https://spdx.org/licenses does: Apache-2.0, MIT, LicenseRef-own",
            )

    @property
    def task(self) -> Task:
        return self.receipt.task

    @property
    def candidate(self) -> Candidate:
        return self.receipt.candidate

    @property
    def entry(self) -> str:
        """The class of the candidate's file that takes the module's place. What is judged may be
        its training step."""
        return ENTRY if self.task.step_of else self.candidate.entry

    @property
    def backend(self) -> str:
        """'cpu', 'cuda' or 'rocm': the kind of device, as packages name it."""
        kind = Device.parse(self.receipt.evaluation.environment.device).kind
        return "rocm" if kind == "hip" else kind

    @property
    def layer(self) -> str:
        """The name of the module's class, such as 'RmsGate'."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @cached_property
    def receipt_text(self) -> str:
        """The receipt's file."""
        return self.receipt.to_json()

    @property
    def receipt_digest(self) -> str:
        digest: str = json.loads(self.receipt_text)["digest"]
        return digest

    @property
    def id(self) -> str:
        """A module name that no other kernel has."""
        return f"{self.name}_{self.backend}_{self.candidate.digest.removeprefix('b2:')[:10]}"

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Where the kernel comes from and what was found, as plain data."""
        found = self.receipt.evaluation
        return {
            "made_by": f"kernelwright {importlib.metadata.version('kernelwright')}",
            "license": self.license,
            "task": {"name": self.task.name, "digest": self.task.digest},
            "candidate": self.candidate.digest,
            "dialect": self.candidate.dialect,
            "rules": list(self.lineage),
            "receipt": self.receipt_digest,
            "judge_version": found.judge_version,
            "device": found.environment.device,
            "environment": dict(found.environment.facts),
            "kinds": list(found.kinds),
            "speedups": {name: str(ratio) for name, ratio in self.speedups.items()},
        }

    @property
    def speedups(self) -> Mapping[str, Any]:
        """By baseline; empty where nothing was timed."""
        timing = self.receipt.evaluation.timing
        return timing.speedups if timing else {}

    @property
    def title(self) -> str:
        """One line about the kernel."""
        found = self.receipt.evaluation
        if found.timing is None:
            return f"{self.task.name} in {self.candidate.dialect}, judged on {self.where}"
        return (
            f"{self.task.name} in {self.candidate.dialect}: {found.speedup} times as fast as "
            f"{found.timing.strongest}, on {self.where}"
        )

    @property
    def where(self) -> str:
        environment = self.receipt.evaluation.environment
        return environment.gpu or environment.device

    def header(self, about: str) -> str:
        """The docstring of a file, with its license and its origin."""
        return (
            f'"""{about}\n\n{self.title}.\n'
            f"Made by {self.provenance['made_by']}; receipt {self.receipt_digest}.\n"
            f'SPDX-License-Identifier: {self.license}\n"""\n'
        )

    def source(self, namespace: str) -> str:
        """The candidate's text, with its operators in ``namespace``.

        Nothing else of it is changed: what is shipped is what was judged.
        """
        spdx = f"# SPDX-License-Identifier: {self.license}\n"
        return spdx + _NAMESPACE.sub(namespace, self.candidate.source)

    @property
    def has_operators(self) -> bool:
        """Whether the file registers its launches with torch.library."""
        return _NAMESPACE.search(self.candidate.source) is not None

    def evidence(self) -> dict[str, str]:
        """The two files that every package holds."""
        provenance = json.dumps(self.provenance, indent=1) + "\n"
        return {RECEIPT: self.receipt_text, PROVENANCE: provenance}


def require_kernel(receipt: Receipt) -> None:
    """See that a verdict is about a kernel, and that the kernel passed.

    Raises:
        UsageError: it is not.
    """
    found, candidate = receipt.evaluation, receipt.candidate
    if candidate.dialect == LIBRARY:
        raise UsageError(
            f"there is no kernel of {receipt.task.name} to export",
            seen="a file that only calls the library: torch itself ships that",
            do="export a kernel in cpp, triton or cuda; `kernelwright report` lists them",
        )
    if not found.passed:
        raise UsageError(
            f"{candidate.digest} is not exported",
            seen=f"{found.status}: {found.why}"[:300],
            do="export a kernel that passed",
        )


def default_name(task: Task) -> str:
    """The task's name as the name of a package: 'LlamaRMSNorm' becomes 'llama_rms_norm'."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", task.name)
    name = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").lower() or "kernel"
    return f"kernel_{name}" if name[0].isdigit() else name


def require_name(name: str) -> None:
    """See that packages, modules and operators can have this name.

    Raises:
        UsageError: they cannot.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or hasattr(builtins, name):
        raise UsageError(
            "this cannot be the name of a package and of its operators",
            seen=name[:80],
            do="give --name: small letters, digits and underscores, such as rms_gate",
        )


def require_free_name(name: str) -> None:
    """See that no other package or operators have this name here.

    Raises:
        UsageError: some have.
    """
    import torch

    taken = ""
    if name in sys.stdlib_module_names:
        taken = "a module of Python's standard library"
    elif any(op.startswith(f"{name}::") for op in torch._C._dispatch_get_all_op_names()):
        taken = f"operators under torch.ops.{name}"
    elif (spec := importlib.util.find_spec(name)) and spec.origin:
        is_earlier_export = Path(spec.origin).with_name(RECEIPT).exists()
        taken = "" if is_earlier_export else f"an installed package at {spec.origin}"
    if taken:
        raise UsageError(f'the name "{name}" is taken', seen=taken, do="give another with --name")
