"""Unsupported programs and errors of the rules: the rest of a search continues."""

import pytest
import torch

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Call
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load
from kernelwright.proposers.rules import RulesProposer, proposer

CPU = Device.parse("cpu")


class Spectrum(torch.nn.Module):
    def forward(self, x, y):
        return torch.exp((x * y.conj()).abs()), x * y, torch.isnan(x), x == y


def test_complex_numbers_are_left_to_the_library():
    captured = capture(Spectrum(), [torch.zeros(4, 8, dtype=torch.complex64)] * 2)
    program = assemble_supported(captured, Fusion(), lambda step: True, products=False)
    called = {step.target.split(".")[3] for step in program.steps if isinstance(step, Call)}
    assert {"abs", "mul", "eq"} <= called
    (own,) = program.own()
    assert "exp" in own.name


def test_an_error_in_one_variant_is_reported_and_the_others_continue(monkeypatch):
    right = proposer.OpenedTask.programs

    def wrong_once(opened, variant, emitter):
        if variant.name == "fused":
            raise AssertionError("the lowering of aten.exp gives too little")
        return right(opened, variant, emitter)

    monkeypatch.setattr(proposer.OpenedTask, "programs", wrong_once)
    task = load(torch.nn.Softplus(), inputs=["float32[4,8]"])
    brief = Brief(task, CPU, ("cpp",))
    with pytest.warns(RuntimeWarning, match=r"a bug.* AssertionError: the lowering of aten\.exp"):
        found = list(RulesProposer().propose(brief))
    names = {proposal.schedule["variant"] for proposal in found}
    assert names and "fused" not in names


class Steered(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x * 3


class InPlace(torch.nn.Module):
    def forward(self, x):
        return x.mul_(2).add_(1)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Steered(), "cannot capture this module: values in its tensors decide"),
        (InPlace(), "cannot capture this module: it changes its input in place"),
        (torch.nn.GRU(8, 8), "no other code for its operators in cpp"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_proposer_without_proposals_says_only_why(module, why, capfd):
    task = load(module, inputs=["float32[4,2,8]"])
    with pytest.raises(StopIteration) as end:
        next(RulesProposer().propose(Brief(task, CPU, ("cpp",))))
    assert why in end.value.value
    assert capfd.readouterr() == ("", "")


def test_an_emitter_that_cannot_be_imported_is_an_internal_error(monkeypatch):
    """No emitter needs an optional package: otherwise its dialect would disappear silently."""
    monkeypatch.setitem(proposer.EMITTERS, "cpp", "kernelwright.nowhere:CppEmitter")
    brief = Brief(load(torch.nn.Softplus(), inputs=["float32[4,8]"]), CPU, ("cpp",))
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        proposer.emitters(brief)
