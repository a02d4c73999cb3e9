"""A network whose convolutions run with channels last: everything between them does so, too."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.gpu.axes import collapse
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Contraction, Kernel, Program, Store
from kernelwright.compiler.ir.prepared import prepared_steps
from kernelwright.compiler.rewrite import BIASES, IMAGES_TOO, ONE_TAP, RELUS, RULES, rewrite


class Network(nn.Module):
    """A convolution, a pooled image, a depthwise convolution, and a convolution of its result."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False)
        self.second_norm = nn.BatchNorm2d(16)
        self.last = nn.Conv2d(16, 8, 1)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.first(x))))
        return self.last(torch.relu(self.second_norm(self.depthwise(x)))).relu()


@pytest.fixture(scope="module")
def network() -> tuple[Network, torch.Tensor, Program]:
    torch.manual_seed(0)
    module, x = Network(), torch.randn(2, 3, 18, 14)
    captured, _ = rewrite(capture(module, [x]), (*RULES, *BIASES, *IMAGES_TOO))
    fusion = Fusion(depthwise=True)
    return module, x, assemble_supported(captured, fusion, TritonEmitter().supports, products=False)


def images(program: Program) -> list[tuple[Kernel, Store]]:
    """The kernels that write images of more than one position, and where they write them."""
    return [
        (kernel, op)
        for kernel in map(collapse, (k for k in program.own() if isinstance(k, Kernel)))
        for op in kernel.body
        if isinstance(op, Store) and len(op.tensor.shape) == 4 and op.tensor.shape[0] == 2
    ]


def test_the_rewritten_network_means_the_same(network):
    module, x, program = network
    state = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        torch.testing.assert_close(interpret(program, [x], state), module(x), rtol=1e-5, atol=1e-5)


def test_values_between_convolutions_have_channels_last(network):
    *inside, (_, result) = images(network[2])
    assert len(inside) >= 4
    assert all(store.tensor.strides[1] == 1 for _, store in inside)
    assert result.tensor.strides[3] == 1  # the caller's layout


def test_neighbouring_threads_write_neighbouring_values(network):
    for kernel, store in images(network[2])[1:-1]:  # the first one turns the caller's layout
        last = kernel.outer[-1] if kernel.outer else kernel.inner[-1]
        assert store.index.coefficient(last.name) == 1, kernel.name


def test_only_convolutions_that_sum_over_channels_are_the_library_s(network):
    called = [step for step in network[2].steps if isinstance(step, Call)]
    convolved = [step.outputs[0].shape[1] for step in called if "conv" in step.target]
    assert convolved == [16, 8]


def test_weights_of_a_depthwise_convolution_lie_by_channel(network):
    written = [
        store.tensor for k in network[2].own() for store in k.body if isinstance(store, Store)
    ]
    assert [t.strides[0] for t in written if t.shape == (16, 1, 3, 3)] == [1]


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_norm_of_evaluation_has_the_type_of_its_argument(dtype):
    module, x = (
        nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()).to(dtype).eval(),
        torch.randn(2, 4, 5, 6),
    )
    program = assemble_supported(
        capture(module, [x.to(dtype)]), Fusion(), TritonEmitter().supports, products=False
    )
    seen = interpret(program, [x.to(dtype)], dict(module.state_dict()))
    torch.testing.assert_close(seen, module(x.to(dtype)), rtol=2e-2, atol=2e-2)


@torch.no_grad()
def test_norms_of_evaluation_are_own_code_and_follow_their_running_statistics(network):
    module, x, _ = network
    captured, _ = rewrite(capture(module.eval(), [x]), (*RULES, *BIASES, *IMAGES_TOO))
    program = assemble_supported(captured, Fusion(), TritonEmitter().supports, products=False)
    seen = interpret(program, [x], dict(module.state_dict()))
    torch.testing.assert_close(seen, module(x), rtol=1e-5, atol=1e-5)
    module.train()
    called = [step.target for step in program.steps if isinstance(step, Call)]
    assert not [target for target in called if "norm" in target]
    buffers = {t.name for t, path in program.attributes if "running" in path}
    prepared = [step for step in prepared_steps(program) if isinstance(step, Kernel)]
    read = {tensor.name for step in prepared for tensor in step.reads}
    assert buffers and buffers.isdisjoint(read)  # torch does not count their changes


class Bottleneck(nn.Module):
    """A block of a ResNet in evaluation that leaves out every second position."""

    def __init__(self) -> None:
        super().__init__()
        self.ways = nn.ModuleList(
            nn.Conv2d(n_in, n_out, taps, stride, taps // 2, bias=False)
            for n_in, n_out, taps, stride in ((32, 16, 1, 1), (16, 16, 3, 2), (16, 32, 1, 1))
        )
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, (16, 16, 32)))
        self.shortcut = nn.Conv2d(32, 32, 1, 2)
        self.eval()

    def forward(self, x):
        found = x
        for way, norm in zip(self.ways[:2], self.norms[:2], strict=True):
            found = norm(way(found)).relu()
        return (self.norms[2](self.ways[2](found)) + self.shortcut(x)).relu()


def positions(dtype: torch.dtype) -> tuple[nn.Module, torch.Tensor, Program]:
    """The block with convolutions of one tap as products, fused."""
    torch.manual_seed(0)
    module, x = Bottleneck().to(dtype), torch.randn(2, 32, 10, 6, dtype=dtype)
    captured, _ = rewrite(capture(module, [x]), (*RULES, *BIASES, *ONE_TAP, *IMAGES_TOO))
    supports = TritonEmitter().supports
    fusion = Fusion(convolutions=False)
    return module, x, assemble_supported(captured, fusion, supports, products=True)


@torch.no_grad()
def test_convolutions_of_one_tap_are_products_with_what_follows() -> None:
    module, x, program = positions(torch.bfloat16)
    calls = [step for step in program.steps if isinstance(step, Call) and "conv" in step.target]
    products = [step for step in program.steps if isinstance(step, Contraction)]
    assert len(calls) == 1 and len(products) == 3
    assert sum("relu" in step.origin for step in products) == 2
    seen = interpret(program, [x], dict(module.state_dict())).float()
    exact = module.double()(x.double()).float()
    torch.testing.assert_close(seen, exact, rtol=0.03, atol=0.03)


def test_convolutions_in_float32_stay_the_library_s() -> None:
    program = positions(torch.float32)[2]
    assert not any(isinstance(step, Contraction) for step in program.steps)


def test_relus_behind_convolutions_are_the_library_s_own():
    layers = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, 2), nn.ReLU()]
    module = nn.Sequential(*layers, nn.Conv2d(8, 8, 1, bias=False), nn.Sigmoid())
    captured, _ = rewrite(
        capture(module, [torch.randn(2, 3, 18, 14)]), (*RELUS, *RULES, *IMAGES_TOO)
    )
    program = assemble_supported(captured, Fusion(), TritonEmitter().supports, products=False)
    called = [s for s in program.steps if isinstance(s, Call) and "conv" in s.target]
    assert ["relu" in call.target for call in called] == [True, True, False]
    assert all(call.outputs[0].strides[1] == 1 for call in called)
    assert not any("relu" in step.origin for step in program.own())
