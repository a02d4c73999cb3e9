"""The built-in loaders keep the contract that plugins must keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

from kernelwright.loaders.kernelbench import KernelBenchLoader
from kernelwright.loaders.module import ModuleLoader
from kernelwright.testing.loaders import LoaderContract
from kernelwright.testing.zoo import cases

TASK = cases()[0].path.parents[1] / "task.py"


class TestKernelBench(LoaderContract):
    loader = KernelBenchLoader()

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.text = tmp_path / "text.py"
        self.text.write_text("x = 1\n")
        self.absent = tmp_path / "absent.py"

    def targets(self) -> list[object]:
        return [TASK, str(TASK)]

    def broken(self) -> list[object]:
        return [self.text, str(self.absent)]


class TestModule(LoaderContract):
    loader = ModuleLoader()

    def targets(self) -> list[object]:
        return [f"{TASK}:Model"]

    def broken(self) -> list[object]:
        return [f"{TASK}:Modle", nn.Linear]
