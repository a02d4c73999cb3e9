"""What the rules cannot do, and where they are wrong: the rest of a search goes on."""

import pytest
import torch

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.load import load
from kernelwright.propose.rules import RulesProposer, proposer
from kernelwright.propose.rules.assemble import assemble_supported
from kernelwright.propose.rules.capture import capture
from kernelwright.propose.rules.fuse import Fusion
from kernelwright.propose.rules.ir import Call


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


def test_a_fault_in_one_variant_is_told_and_the_others_go_on(monkeypatch):
    right = proposer._assembled

    def wrong_once(part, variant, emitter):
        if variant.name == "fused":
            raise AssertionError("the lowering of aten.exp gives too little")
        return right(part, variant, emitter)

    monkeypatch.setattr(proposer, "_assembled", wrong_once)
    task = load(torch.nn.Softplus(), inputs=["float32[4,8]"])
    brief = Brief(task, Device.parse("cpu"), ("cpp",))
    with pytest.warns(RuntimeWarning, match=r"a fault.* AssertionError: the lowering of aten\.exp"):
        found = list(RulesProposer().propose(brief))
    names = {proposal.schedule["variant"] for proposal in found}
    assert names and "fused" not in names
