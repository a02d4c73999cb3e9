"""Recurrent networks in CUDA, run thread by thread with all blocks at a time."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch
from simt import on_cpu
from tests.emitters import build, source
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Recurrence, Ref

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
GPU = Target("cuda:sm_90")
EMITTER = CudaEmitter()
NETWORKS = {
    "lstm": nn.LSTM(8, 16, 3, batch_first=True),
    "lstm_both_ways": nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True),
    "gru": nn.GRU(8, 16, 2),
    "gru_both_ways": nn.GRU(12, 16, 2, bidirectional=True),
    "gru_without_biases": nn.GRU(8, 32, 1, bias=False),
    "rnn": nn.RNN(8, 16, 2, nonlinearity="relu"),
}


class Whole(nn.Module):
    """All results of a recurrent network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x, *states):
        sequence, last = self.network(x, states if len(states) == 2 else states[0])
        return (sequence, *last) if isinstance(last, tuple) else (sequence, last)


def captured(name: str):
    network = NETWORKS[name]
    torch.manual_seed(0)
    n_states = 2 if isinstance(network, nn.LSTM) else 1
    rows = network.num_layers * (2 if network.bidirectional else 1)
    shape = (4, 3, network.input_size) if network.batch_first else (3, 4, network.input_size)
    states = [torch.randn(rows, 4, network.hidden_size) for _ in range(n_states)]
    inputs = [torch.randn(shape), *states]
    module = Whole(network)
    program = assemble_supported(capture(module, inputs), Fusion(), EMITTER.supports, products=True)
    return module, inputs, program


@pytest.mark.parametrize("name", NETWORKS)
def test_schedules_compute_what_torch_does(name):
    module, inputs, program = captured(name)
    assert any(isinstance(step, Recurrence) for step in program.own())
    parameters = dict(module.named_parameters())
    by_name = [parameters[path].detach() for _, path in program.attributes]
    whole = with_parameters_as_inputs(program)
    with torch.no_grad():
        expected = module(*inputs)
    first, *_, last = [*EMITTER.schedules(program, GPU)] * 2
    for schedule in (first, last):
        text = source(whole, EMITTER.emit(program, schedule, GPU))
        for got, wanted in zip(build(on_cpu(text))(*inputs, *by_name), expected, strict=True):
            torch.testing.assert_close(got, wanted, rtol=2e-6, atol=2e-6)


def test_its_meaning_is_torch_s():
    module, inputs, program = captured("lstm")
    with torch.no_grad():
        for got, wanted in zip(
            interpret(program, inputs, dict(module.named_parameters())),
            module(*inputs),
            strict=True,
        ):
            torch.testing.assert_close(got, wanted)


def with_parameters_as_inputs(program):
    """The program as ``source`` takes it: no attributes."""
    tensors = tuple(tensor for tensor, _ in program.attributes)
    return replace(program, inputs=(*program.inputs, *tensors), attributes=())


class Loop(nn.Module):
    """A loop over time as people write it."""

    def __init__(self) -> None:
        super().__init__()
        self.i2h, self.h2o = nn.Linear(8 + 16, 16), nn.Linear(16, 3)

    def forward(self, x, hidden):
        outputs = []
        for t in range(x.size(0)):
            hidden = torch.tanh(self.i2h(torch.cat((x[t], hidden), dim=1)))
            outputs.append(self.h2o(hidden))
        return torch.stack(outputs, dim=0), hidden


def test_a_loop_over_time_is_one_network_and_one_linear_map():
    torch.manual_seed(0)
    module, inputs = Loop(), [torch.randn(4, 4, 8), torch.randn(4, 16)]
    program = assemble_supported(capture(module, inputs), Fusion(), EMITTER.supports, products=True)
    (own,) = (step for step in program.own() if isinstance(step, Recurrence))
    assert len(program.steps) < 12
    with torch.no_grad():
        expected = module(*inputs)
    got = interpret(program, inputs, dict(module.named_parameters()))
    for seen, wanted in zip(got, expected, strict=True):
        torch.testing.assert_close(seen, wanted)
    alone = replace(
        program, inputs=own.reads, attributes=(), steps=(own,), outputs=(Ref(own.results[0].name),)
    )
    w_x, w_h = (w.contiguous() for w in module.i2h.weight.detach().split([8, 16], dim=1))
    given = {own.weights[0].name: w_x, own.weights[1].name: w_h}
    given |= {own.weights[2].name: module.i2h.bias.detach(), own.weights[3].name: torch.zeros(16)}
    given |= {own.x.name: inputs[0], own.states[0].name: inputs[1][None]}
    (schedule, *_) = EMITTER.schedules(alone, GPU)
    forward = build(on_cpu(source(alone, EMITTER.emit(alone, schedule, GPU))))
    (sequence,) = forward(*(given[tensor.name] for tensor in own.reads))
    torch.testing.assert_close(sequence[-1], expected[1], rtol=2e-6, atol=2e-6)
