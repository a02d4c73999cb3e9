"""The front half against PyTorch: a captured, lowered and fused module means what it did."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from kernelwright.compiler.capture.capture import CannotCapture, capture
from kernelwright.compiler.fuse.assemble import assemble, assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Attention, Call, Contraction, Kernel, Program, Reduce
from kernelwright.compiler.lower.graph import to_flow
from kernelwright.compiler.rewrite import rewrite

R = torch.randn


class Wrapped(nn.Module):
    """A function as a module."""

    def __init__(self, function, *parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *inputs):
        return self.function(*inputs, *self.parts)


def program_of(module, inputs, fusion=None, *, products=False) -> Program:
    flow = to_flow(capture(module, inputs), products=products)
    return assemble(flow, fusion or Fusion())


def check(module: nn.Module, inputs, fusion=None, *, products=False) -> Program:
    """The program, after comparing it with the module: results and updated buffers."""
    program = program_of(module, inputs, fusion, products=products)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        seen = interpret(program, [x for x in inputs if isinstance(x, torch.Tensor)], state)
        wanted = module(*inputs)
    torch.testing.assert_close(seen, wanted, rtol=1e-5, atol=1e-5)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(state[name], value, rtol=1e-5, atol=1e-5, msg=name)
    return program


def rotated(x, norm):
    """Norms of heads, rotated by position as in Qwen 3: each half reads the other's."""
    first, second = norm(x).transpose(1, 2).chunk(2, -1)
    return torch.cat((-second, first), -1) * 0.5 + norm(x).transpose(1, 2)


ONE_KERNEL = {
    "norm and rotation": (Wrapped(rotated, nn.RMSNorm(8)), [R(2, 5, 3, 8)]),
    "chain and row sum": (
        Wrapped(lambda x: torch.sigmoid(torch.relu(x) * 2 + 1).tanh().sum(1)), [R(6, 10)]
    ),
    "softmax": (nn.Softmax(1), [R(4, 7)]),
    "log softmax over columns": (nn.LogSoftmax(0), [R(4, 7)]),
    "layer norm": (nn.LayerNorm((5, 6)), [R(3, 4, 5, 6)]),
    "group norm": (nn.GroupNorm(2, 8), [R(3, 8, 5, 6)]),
    "instance norm": (nn.InstanceNorm2d(8, affine=True), [R(3, 8, 5, 6)]),
    "rms norm": (nn.RMSNorm(8), [R(3, 4, 8)]),
    "max pool with padding": (nn.MaxPool2d(3, 2, 1), [R(3, 4, 8, 9)]),
    "dilated max pool": (nn.MaxPool1d(3, 2, 1, dilation=2), [R(3, 4, 19)]),
    "average pool": (nn.AvgPool3d(2), [R(3, 2, 4, 6, 8)]),
    "adaptive average pool": (nn.AdaptiveAvgPool2d(2), [R(3, 4, 8, 6)]),
    "cumulative sum": (Wrapped(lambda x: torch.cumsum(x * 2, 1) + 1), [R(4, 9)]),
    "reverse cumulative sum": (Wrapped(lambda x: x.flip(1).cumsum(1).flip(1)), [R(4, 9)]),
    "concatenation": (Wrapped(lambda x, y: torch.cat([x, y.relu()], 1).exp()), [R(4, 9), R(4, 3)]),
    "padding of a computed value": (
        Wrapped(lambda x: F.pad(x.exp(), (1, 2, 3, 0)).sum(1)), [R(4, 9, 5)]
    ),
    "softmax of a permuted reshape": (
        Wrapped(lambda x: (x.permute(0, 2, 1).reshape(4, -1) * 2).softmax(1)), [R(4, 9, 5)]
    ),
    "softmax over the places of an image": (
        Wrapped(lambda x, s: x.flatten(2).softmax(2).view(x.shape) * s),
        [R(4, 3, 6, 5), R(3, 1, 1)],
    ),
    "norm of rows that are then taken apart and turned": (
        Wrapped(lambda x, s: F.layer_norm(x.flatten(1), [60]).view(4, 3, 20).mT * s),
        [R(4, 60), R(20, 1)],
    ),
    "argmax": (Wrapped(lambda x: (x.argmax(1), x.max(1))), [R(4, 9, 5)]),
    "embedding": (Wrapped(lambda i, e: e(i).relu(), nn.Embedding(10, 6)),
                  [torch.randint(0, 10, (3, 4))]),
    "mean squared error": (Wrapped(F.mse_loss), [R(6, 10), R(6, 10)]),
    "logsumexp": (Wrapped(lambda x: torch.logsumexp(x, 1, keepdim=True)), [R(6, 10)]),
    "standard score": (
        Wrapped(lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)), [R(6, 10)]
    ),
    "norms": (Wrapped(lambda x: (x.norm(dim=1), x.norm(1, dim=1), x / x.norm(dim=1)[:, None])),
              [R(6, 10)]),
    "triangle": (Wrapped(lambda x: x.tril() + x.triu(1) * 2), [R(6, 6)]),
    "diagonal": (Wrapped(lambda x, y: torch.diag(x) + y.diagonal(dim1=-2, dim2=-1)),
                 [R(5), R(5, 5)]),
    "numbers and a kept mode": (Wrapped(lambda x: torch.min(x, torch.tensor(0.5)) * 2), [R(3, 4)]),
}  # fmt: skip
SEVERAL_STEPS = {
    "batch norm in training": (nn.BatchNorm2d(8), [R(3, 8, 5, 6)]),
    "cross entropy": (Wrapped(F.cross_entropy), [R(6, 10), torch.randint(0, 10, (6,))]),
    "convolution, batch norm, relu": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), [R(2, 3, 8, 8)]
    ),
    "small network": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(36, 5), nn.Softmax(1)), [R(2, 3, 8, 8)]
    ),
    "transformer layer": (
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), [R(2, 5, 16)]
    ),
    "scan along an axis that is two in memory": (
        Wrapped(lambda x: x.permute(2, 0, 1).reshape(5, -1).cumsum(1)), [R(3, 4, 5)]
    ),
    "split": (Wrapped(lambda x: [a * 2 for a in x.split(3, 1)] + list(x.chunk(2, 1))), [R(6, 10)]),
    "recurrent": (Wrapped(lambda x, cell: cell(x)[0].relu(), nn.LSTM(4, 5)), [R(6, 3, 4)]),
}  # fmt: skip
PRODUCTS = {
    "linear maps": (nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), [R(5, 8)], 2),
    "linear of tokens": (nn.Sequential(nn.Linear(8, 16), nn.ReLU()), [R(5, 3, 8)], 1),
    "batches of products": (
        Wrapped(lambda a, b: torch.matmul(a, b.mT).exp()), [R(2, 3, 4, 5), R(2, 3, 6, 5)], 1
    ),
    "broadcast product": (Wrapped(torch.matmul), [R(2, 3, 4, 5), R(3, 5, 6)], 1),
    "strided convolution": (
        Wrapped(lambda x, c: F.mish(c(x)) * 2, nn.Conv2d(3, 4, 3, 2, 1)), [R(2, 3, 8, 8)], 1
    ),
    "transposed convolution": (
        Wrapped(lambda x, c: c(x).tanh(), nn.ConvTranspose2d(3, 4, (3, 4), 2, 1, 1)),
        [R(2, 3, 5, 6)], 1,
    ),
    "convolution in groups": (
        Wrapped(lambda x, c: c(x).tanh(), nn.Conv2d(4, 6, 3, 2, 1, groups=2)), [R(2, 4, 8, 7)], 1
    ),
    "transposed convolution in groups": (
        Wrapped(lambda x, c: c(x) + 1, nn.ConvTranspose2d(4, 6, 3, (2, 3), 1, groups=2)),
        [R(2, 4, 5, 4)], 1,
    ),
    "transposed convolution with gaps": (
        Wrapped(lambda x, c: c(x) + 1, nn.ConvTranspose1d(3, 4, 3, 4, 1, dilation=2)),
        [R(2, 3, 7)], 1,
    ),
    "gated": (
        Wrapped(lambda x, a, b: F.silu(a(x)) * b(x), nn.Linear(8, 16), nn.Linear(8, 16)),
        [R(2, 4, 8)], 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_each_module_becomes_one_kernel(name: str) -> None:
    program = check(*ONE_KERNEL[name])
    assert [type(step) for step in program.steps] == [Kernel]


@pytest.mark.parametrize("name", SEVERAL_STEPS)
def test_calls_and_kernels_together(name: str) -> None:
    assert any(program_step for program_step in check(*SEVERAL_STEPS[name]).own())


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_take_their_epilogues(name: str) -> None:
    module, inputs, count = PRODUCTS[name]
    steps = check(module, inputs, products=True).steps
    assert [type(step) for step in steps] == [Contraction] * count


def test_a_depthwise_convolution_is_a_reduction() -> None:
    conv = nn.Conv2d(4, 4, 3, 2, 1, groups=4)
    (step,) = check(nn.Sequential(conv, nn.ReLU()), [R(2, 4, 8, 8)], products=True).steps
    assert isinstance(step, Kernel)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    module, x = nn.Sequential(nn.GELU(), nn.Softmax(1)), R(5, 40, dtype=dtype)
    seen = interpret(program_of(module, [x]), [x], {})
    exact = module(x.double()).to(dtype)
    torch.testing.assert_close(seen, exact, rtol=0.01, atol=1e-4)


def test_an_epilogue_works_in_place_on_a_fresh_result() -> None:
    program = check(nn.Sequential(nn.Linear(8, 16), nn.GELU()), [R(5, 8)])
    call, kernel = program.steps
    assert isinstance(call, Call) and isinstance(kernel, Kernel)
    assert kernel.writes == call.outputs


def test_values_that_are_needed_later_are_not_overwritten() -> None:
    linear = nn.Linear(8, 16)
    program = check(Wrapped(lambda x, f: (y := f(x), y.relu()), linear), [R(5, 8)])
    (kernel,) = program.own()
    assert not set(kernel.reads) & set(kernel.writes)


def test_statistics_that_two_results_need_are_reduced_once() -> None:
    program = check(nn.BatchNorm2d(4), [R(3, 4, 5, 6)])
    reduces = [op for step in program.own() for op in step.body if isinstance(op, Reduce)]
    assert len(reduces) == 2, "the mean and the variance, for the output and the running ones"


def test_reductions_apart_make_more_kernels() -> None:
    module, inputs = nn.LayerNorm(6), [R(4, 6)]
    apart = check(module, inputs, Fusion(join_rows=1 << 60, siblings=False))
    assert len(apart.steps) > len(check(module, inputs).steps)


def test_a_costly_value_that_two_kernels_need_is_computed_once() -> None:
    module = Wrapped(lambda x: ((x.exp().tanh() + 1).sum(0), (x.exp().tanh() + 1).sum(1)))
    shared = Wrapped(lambda x: (lambda y: (y.sum(0), y.sum(1)))(x.exp().tanh() + 1))
    assert len(check(shared, [R(5, 7)]).steps) >= len(check(module, [R(5, 7)]).steps) - 1
    first = next(iter(check(shared, [R(5, 7)]).own()))
    assert isinstance(first, Kernel) and (5, 7) in {t.shape for t in first.writes}


def test_control_flow_on_values_is_refused() -> None:
    with pytest.raises(CannotCapture):
        capture(Wrapped(lambda x: x * 2 if x.sum() > 0 else x), [R(3)])


STEPS = {
    "unary": ["relu", "tanh", "sigmoid", "exp", "square", "abs", "neg"],
    "shape": ["transpose", "flatten", "flip", "slice", "unsqueeze"],
    "row": ["softmax", "mean", "sum", "amax", "cumsum", "standard"],
}


def _apply(x: torch.Tensor, op: str) -> torch.Tensor:
    if op in STEPS["unary"]:
        return getattr(torch, op)(x.clamp(-3, 3))
    match op:
        case "transpose":
            return x.transpose(0, -1)
        case "flatten":
            return x.reshape(x.shape[0], -1)
        case "flip":
            return x.flip(-1)
        case "slice":
            return x[..., : max(1, x.shape[-1] - 1)]
        case "unsqueeze":
            return x.unsqueeze(1) + x.mean()
        case "softmax":
            return x.softmax(-1)
        case "cumsum":
            return x.cumsum(-1)
        case "standard":
            return x - x.mean(-1, keepdim=True)
    return getattr(x, op)(-1, keepdim=True) + x


@settings(max_examples=15)
@given(
    shape=st.lists(st.integers(1, 5), min_size=2, max_size=3),
    ops=st.lists(st.sampled_from([op for ops in STEPS.values() for op in ops]), max_size=5),
    rows=st.sampled_from([1, 8]),
)
def test_random_chains_keep_their_meaning(shape: list[int], ops: list[str], rows: int) -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for op in ops:
            x = _apply(x, op)
        return x

    torch.manual_seed(math.prod(shape))
    check(Wrapped(chain), [R(shape)], Fusion(join_rows=rows))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bijl,lk->bijk", [(2, 3, 4, 20), (20, 5)]),
        ("bclhn,bcshn,bhcls,bcshp->bclhp", [(2, 3, 4, 2, 9), (2, 3, 5, 2, 9), (2, 2, 3, 4, 5),
                                            (2, 3, 5, 2, 6)]),
        ("bhzc,bchpn->bzhpn", [(2, 2, 3, 3), (2, 3, 2, 4, 5)]),
        ("ij,ij->", [(3, 12), (3, 12)]),
        ("ab,cd->bd", [(3, 4), (5, 6)]),
    ],
)  # fmt: skip
def test_einsum_is_own_code(equation, shapes):
    class Sum(nn.Module):
        def forward(self, *operands):
            return torch.einsum(equation, *operands)

    torch.manual_seed(0)
    inputs = [torch.randn(shape) for shape in shapes]
    program = assemble_supported(capture(Sum(), inputs), Fusion(), lambda step: True, products=True)
    assert not any(isinstance(step, Call) for step in program.steps)
    torch.testing.assert_close(interpret(program, inputs, {}), Sum()(*inputs), rtol=1e-5, atol=1e-4)


def test_a_scan_after_its_start_value_is_one_scan():
    class Exclusive(nn.Module):
        def forward(self, x):
            sums = torch.cumsum(x.narrow(1, 0, x.size(1) - 1), 1)
            return torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), sums), 1)

    inputs = [torch.randn(3, 9)]
    program = assemble(to_flow(capture(Exclusive(), inputs)), Fusion())
    assert len(program.steps) == 1
    torch.testing.assert_close(interpret(program, inputs, {}), Exclusive()(*inputs))


def test_the_loss_of_a_class_keeps_no_row_in_memory():
    class Loss(nn.Module):
        def forward(self, x, target):
            return F.cross_entropy(x, target)

    inputs = [torch.randn(6, 9), torch.tensor([0, 3, -100, 8, 2, 2])]
    program = assemble(to_flow(capture(Loss(), inputs)), Fusion())
    assert all(tensor.shape != (6, 9) for step in program.own() for tensor in step.writes)
    torch.testing.assert_close(interpret(program, inputs, {}), Loss()(*inputs))


def test_attention_over_wide_heads_is_own_products():
    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v)

    inputs = [torch.randn(1, 2, n, 264) for n in (3, 5, 5)]
    program = assemble_supported(
        capture(Attention(), inputs), Fusion(), lambda step: True, products=True
    )
    kinds = [type(step) for step in program.steps]
    assert kinds == [Contraction, Kernel, Contraction]
    torch.testing.assert_close(
        interpret(program, inputs, {}), Attention()(*inputs), rtol=1e-5, atol=1e-5
    )


def test_attention_of_one_query_reads_shared_keys_and_masks_where_they_are():
    class Attention(nn.Module):
        def forward(self, q, k, v, mask=None, scale=None):
            k, v = (t if scale is None else t.float() * scale for t in (k, v))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

    q, k, v = R(2, 4, 1, 8), R(2, 2, 12, 8), R(2, 2, 12, 8)
    mask = torch.rand(2, 1, 1, 12) > 0.5
    mask[0] = False  # no key at all
    k8, v8 = (torch.randint(-9, 9, (2, 2, 12, 8), dtype=torch.int8) for _ in "kv")
    for inputs in ([q, k, v], [q, k, v, mask], [q, k, v, R(1, 4, 1, 12)], [q, k8, v8, mask, R(1)]):
        program = assemble_supported(
            capture(Attention(), inputs), Fusion(), lambda step: True, products=True
        )
        assert len(program.steps) == 3 and not any(isinstance(s, Call) for s in program.steps)
        found = interpret(program, inputs, {})
        torch.testing.assert_close(found, Attention()(*inputs), rtol=1e-4, atol=1e-4)


def test_attention_of_few_queries_is_one_step_that_reads_each_head_of_keys_once():
    class Decoding(nn.Module):
        def forward(self, q, k, v, mask):
            k, v = (t.repeat_interleave(2, dim=1) for t in (k, v))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    inputs = [x.bfloat16() for x in (R(2, 4, 1, 8), R(2, 2, 12, 8), R(2, 2, 12, 8))]
    inputs.append(torch.rand(2, 1, 1, 12) > 0.5)
    captured, _ = rewrite(capture(Decoding(), inputs))
    program = assemble_supported(
        captured, Fusion(few_queries=True), lambda step: True, products=True
    )
    *_, last = program.steps
    assert isinstance(last, Attention) and (last.k.name, last.v.name) == ("k", "v")
    found = interpret(program, inputs, {})
    torch.testing.assert_close(found, Decoding()(*inputs), rtol=2e-2, atol=2e-2)


def test_keys_that_are_computed_are_not_kept_for_attention_of_few_queries():
    class Unpacked(nn.Module):
        def forward(self, q, k, v, scale):
            k, v = (t.bfloat16() * scale for t in (k, v))
            return F.scaled_dot_product_attention(q, k, v)

    k, v = (torch.randint(-9, 9, (2, 2, 12, 8), dtype=torch.int8) for _ in "kv")
    inputs = [R(2, 2, 1, 8).bfloat16(), k, v, R(1).bfloat16()]
    program = assemble_supported(
        capture(Unpacked(), inputs), Fusion(few_queries=True), lambda step: True, products=True
    )
    assert not any(isinstance(step, (Attention, Call)) for step in program.steps)


def test_operators_without_a_loop_nest_become_calls():
    class Patches(nn.Module):
        def forward(self, x):
            return x.unfold(2, 2, 2).unfold(3, 2, 2).reshape(2, 16, 12).exp()

    inputs = [torch.randn(2, 3, 8, 8)]
    program = assemble_supported(
        capture(Patches(), inputs), Fusion(), lambda step: True, products=True
    )
    assert any(isinstance(step, Call) for step in program.steps)
    torch.testing.assert_close(interpret(program, inputs, {}), Patches()(*inputs))


def test_shuffled_channels_are_written_once_for_a_convolution_in_groups():
    class Shuffled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(12, 24, 1, groups=3, bias=False)

        def forward(self, x):
            x = x.relu().view(2, 3, 4, 5, 6).transpose(1, 2).contiguous()
            return self.layer(x.view(2, 12, 5, 6))

    program = check(Shuffled(), [R(2, 12, 5, 6)], products=True)
    sizes = [tensor.n_elements for step in program.own() for tensor in step.writes]
    assert len(sizes) <= 3
    assert max(sizes) == 2 * 24 * 5 * 6


def test_long_attention_is_an_own_step():
    class Causal(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    inputs = [torch.randn(1, 2, 6, 16) for _ in range(3)]
    captured = capture(Causal(), inputs)
    short = assemble_supported(captured, Fusion(), lambda step: True, products=True)
    assert not any(isinstance(step, Attention) for step in short.steps)
    eager = Fusion(least_attention=1)
    long = assemble_supported(captured, eager, lambda step: True, products=True)
    assert [type(step) for step in long.steps] == [Attention]
    torch.testing.assert_close(interpret(long, inputs, {}), Causal()(*inputs))
