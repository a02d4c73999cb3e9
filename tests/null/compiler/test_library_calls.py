"""Calls of PyTorch: their operands are as PyTorch wants them on every device, and their results
have the strides that own kernels read."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.fuse.assemble import assemble, assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Call, Kernel, Ref
from kernelwright.compiler.ir.steps import call_text, layout_text
from kernelwright.compiler.lower.graph import to_flow
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load
from kernelwright.proposers.rules import RulesProposer


class Loop(nn.Module):
    """A recurrent network written out."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(5 + 3, 3)

    def forward(self, x, hidden):
        states = []
        for step in range(x.shape[0]):
            hidden = torch.tanh(self.cell(torch.cat((x[step], hidden), dim=1)))
            states.append(hidden)
        return torch.stack(states)


def test_a_rolled_loop_gives_torch_dense_weights_and_a_dense_state():
    """cuDNN views weights as rows of one buffer, and requires a contiguous state."""
    captured = capture(Loop(), [torch.randn(6, 2, 5), torch.randn(3, 2).t()])
    program = assemble(to_flow(captured), Fusion())
    tensors = {t.name: t for t, _ in program.attributes}
    for step in program.steps:
        made = step.outputs if isinstance(step, Call) else step.writes
        tensors |= {tensor.name: tensor for tensor in made}
    (network,) = (s for s in program.steps if isinstance(s, Call) and "rnn_tanh" in s.target)
    for given in (network.args[1], *network.args[2]):
        tensor = tensors[given.name]
        assert torch.empty_strided(tensor.shape, tensor.strides).is_contiguous()


class Heads(nn.Module):
    """Attention over heads that are contiguous in memory, followed by own code."""

    def forward(self, x):
        q, k, v = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in x.chunk(3, dim=2))
        return F.scaled_dot_product_attention(q, k, v).exp()


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_attention_results_get_the_strides_that_kernels_read(order):
    """torch's attention kernels differ in the strides of their results."""
    captured = capture(Heads(), [torch.randn(3, 5, 24)])
    program = assemble_supported(
        captured, Fusion(), lambda step: isinstance(step, Kernel), products=False
    )
    (call,) = (s for s in program.steps if isinstance(s, Call) and "attention" in s.target)
    (wanted,) = call.outputs
    value = torch.randn(wanted.shape)
    given = value.permute(order).contiguous().permute([order.index(dim) for dim in range(4)])
    names = {wanted.name: given}
    exec(layout_text(call), {"torch": torch}, names)
    assert names[wanted.name].stride() == wanted.strides
    assert torch.equal(names[wanted.name], value)


def test_attention_results_with_the_right_strides_are_not_copied():
    call = SimpleNamespace(target="torch.ops.aten.scaled_dot_product_attention.default")
    wanted = SimpleNamespace(name="heads", shape=(3, 2, 5, 4), strides=(40, 4, 8, 1))
    names = {"heads": (given := torch.randn(3, 5, 2, 4).transpose(1, 2))}
    exec(layout_text(SimpleNamespace(**vars(call), outputs=(wanted,))), {}, names)
    assert names["heads"].data_ptr() == given.data_ptr()


def test_a_file_has_the_layout_statement_where_kernels_read_the_result():
    task = load(Heads(), inputs=[torch.randn(3, 5, 24)])
    texts = {}
    for device, dialect in (("cuda:sm_90", "triton"), ("cpu", "cpp")):
        brief = Brief(task, Device.parse(device), (dialect,))
        texts[device] = next(RulesProposer().propose(brief)).candidate.source
    statement = ".permute(0, 2, 1, 3).contiguous().permute(0, 2, 1, 3)\n"
    assert all(statement in text for text in texts.values())


def test_an_einstein_sum_is_called_without_the_path_that_a_trace_found():
    """If opt_einsum is installed, ATen's operator gets a path; torch.einsum takes none."""
    call = Call(
        "torch.ops.aten.einsum.default",
        args=("ab,bc,cd->ad", [Ref("a"), Ref("b"), Ref("c")]),
        kwargs=(("path", [0, 1, 0, 1]),),
        outputs=(),
    )
    assert call_text(call, "x.device") == "torch.einsum('ab,bc,cd->ad', [a, b, c])"


def test_sizes_to_split_into_stay_a_list():
    """Attention whose linear maps share a weight splits into sizes; spread, the second would be an
    axis."""
    call = Call("torch.ops.aten.split_with_sizes.default", (Ref("w"), [64, 128]), (), ())
    assert call_text(call, "w.device") == "w.split([64, 128])"
    call = Call("torch.ops.aten.view.default", (Ref("w"), [64, 128]), (), ())
    assert call_text(call, "w.device") == "w.reshape(64, 128)"
