"""A search's winner goes through the gates: the ways of use, in a process of its own."""

from __future__ import annotations

import dataclasses
import time

import pytest
from tests.host.compiler.test_candidates import cache_folder
from tests.host.compiler.test_misses import result_for
from tests.host.compiler.test_uses import TEXT

import kernelwright as kw
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.runtime import gates
from kernelwright.runtime.gates import LEAST_S, through_gates
from kernelwright.search import shapes

__all__ = ["cache_folder"]

LONG_S = 6000.0
FAULTY = """
import os
import signal
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if torch.is_inference_mode_enabled():
            {act}
        return x * 2 if self.training else x * 3
"""
OWN = """
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [__import__("torch").ones(4, 4)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return result_for(Task("example", "folder", TEXT), tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def faulty(found, tmp_path):
    """Makes a result whose kernel does something in inference mode, and is wrong in eval mode."""

    def make(act):
        path = tmp_path / "faulty.py"
        path.write_text(FAULTY.format(act=act))
        return dataclasses.replace(found, task=Task("own", "folder", OWN), source_path=path)

    return make


def outcomes(result, search_s=LONG_S):
    return {use.name: use for use in through_gates(result, Settings(), search_s=search_s)}


def test_every_way_of_use_is_told(found):
    uses = outcomes(found)
    assert not [use for use in uses.values() if use.is_fault or use.outcome == "untried"]
    assert {"a call", "torch.compile", "torch.export", "saved and loaded"} <= uses.keys()
    assert uses["backward"].outcome == "missed" and "no_grad" in uses["backward"].detail


def test_a_use_that_ends_the_process_has_raised(faulty):
    uses = outcomes(faulty("os.kill(os.getpid(), signal.SIGSEGV)"))
    assert uses["a call"].outcome == "served"
    assert uses["inference mode"].outcome == "raised" and "-11" in uses["inference mode"].detail
    assert uses["the other mode"].outcome == "untried"


def test_what_takes_too_long_is_untried(faulty):
    result = faulty("pass")
    result.source_path.write_text("import time\n\ntime.sleep(10_000)\n")
    began_s = time.monotonic()
    uses = outcomes(result, search_s=1.0)
    assert {use.outcome for use in uses.values()} == {"untried"}
    assert time.monotonic() - began_s < 60 * LEAST_S


def test_a_fault_is_warned_of_and_stands_in_the_result(faulty, tmp_path, monkeypatch):
    result = faulty("pass")
    settings = {"archive": str(tmp_path / "a.sqlite"), "out": str(tmp_path)}
    monkeypatch.setattr(shapes, "optimize", lambda task, **_: result)
    monkeypatch.setattr(gates, "SHARE", LONG_S * 1e6)
    with pytest.warns(UserWarning, match="not to be used so: the other mode: wrong"):
        told = kw.optimize(result.task, **settings)
    assert "NOT FOR USE with the other mode" in repr(told)
    quiet = kw.optimize(result.task, tries_uses=False, **settings)
    assert quiet.uses == ()
