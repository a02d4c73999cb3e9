"""Proposed files where torch traces, transforms or compiles them: right, and never a crash."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from tests.host.compiler.test_candidates import POOLED, cache_folder, proposals
from tests.host.compiler.test_other_uses import GATED, PARTED
from tests.null.swarm.briefs import verdict
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import kernelwright as kw
from kernelwright.core.task import Task
from kernelwright.loaders import load, open_reference
from kernelwright.search.result import Result, write_source

__all__ = ["cache_folder"]

NORMED = GATED.replace("nn.LayerNorm(16)", "nn.BatchNorm1d(16)")
"""It writes to buffers."""
HELD = GATED.replace("self.shift =", "self.register_buffer('shift', ").replace(
    "16)\n\n", "16))\n\n"
)
TASKS = {
    "whole": lambda: Task("example", "folder", GATED),
    "parts": lambda: Task("example", "folder", PARTED),
    "prepared": lambda: Task("example", "folder", POOLED),
    "buffers": lambda: Task("example", "folder", NORMED),
    "object": lambda: load(
        open_reference(Task("example", "folder", HELD)).build(0), inputs=[torch.randn(6, 8)]
    ),
}
WHOLE = ("whole", "prepared", "buffers", "object")
"""Where no value decides which way a forward goes, so that it can be one graph."""


@pytest.fixture(params=[(name, several) for name in TASKS for several in (False, True)], ids=str)
def pair(request, tmp_path) -> tuple[nn.Module, nn.Module]:
    """(what is built, the reference), with the same weights."""
    name, several = request.param
    if name == "object" and not several:
        pytest.skip("it has no forward of its own, and says so")
    task = TASKS[name]()
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
    module = open_reference(task).build(0)
    fast = kw.build([result] if several else result)
    fast.load_state_dict(module.state_dict())
    if hasattr(fast, "layers"):
        fast.layers[2].shift = module.layers[2].shift
    fast.name = name
    return fast, module


def has_kernels(graph: torch.fx.Graph) -> bool:
    return any("kernels_" in str(node.target) for node in graph.nodes if node.op == "call_function")


def once(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What a copy of the module gives: none of its buffers changes."""
    return copy.deepcopy(module)(x)


@torch.no_grad()
def test_make_fx_gives_a_graph_that_computes_the_same(pair) -> None:
    fast, module = pair
    x, other = torch.randn(6, 8), torch.randn(6, 8)
    if fast.__dict__.pop("name") not in WHOLE:
        pytest.skip("values decide which way it goes")
    fast(x), module(x)
    traced = make_fx(copy.deepcopy(fast))(x)
    assert has_kernels(traced.graph)
    torch.testing.assert_close(traced(other), once(module, other))


@torch.no_grad()
def test_tensors_without_memory_have_the_shape_of_the_result(pair) -> None:
    fast, _ = pair
    if fast.__dict__.pop("name") not in WHOLE:
        pytest.skip("values decide which way it goes")
    x = torch.randn(6, 8)
    copied = copy.deepcopy(fast)  # torch cannot copy real tensors under the mode
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        result = copied(mode.from_tensor(x))
    assert type(result) is not torch.Tensor
    assert tuple(result.shape) == tuple(once(fast, x).shape)


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [None, True])
def test_torch_compile_makes_one_graph_of_it(pair, dynamic) -> None:
    fast, module = pair
    name = fast.__dict__.pop("name")
    graphs = []

    def backend(graph, _):
        graphs.append(graph.graph)
        return graph

    torch._dynamo.reset()
    compiled = torch.compile(fast, fullgraph=name in WHOLE, backend=backend, dynamic=dynamic)
    for _ in range(2):
        x = torch.randn(6, 8)
        torch.testing.assert_close(compiled(x), module(x))
        torch.testing.assert_close(fast.state_dict(), module.state_dict())
    if name in WHOLE:
        assert any(map(has_kernels, graphs))
    for x in (torch.randn(3, 8), torch.randn(8, 6).t()):
        torch.testing.assert_close(compiled(x), module(x))
    with torch.enable_grad():
        x = torch.randn(6, 8, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad is not None


@torch.no_grad()
def test_what_is_compiled_notices_later_changes(pair) -> None:
    fast, module = pair
    if fast.name not in ("whole", "parts", "object"):
        pytest.skip("one kind is enough")
    del fast.name
    torch._dynamo.reset()
    compiled = torch.compile(fast, backend="eager")
    x = torch.randn(6, 8)
    torch.testing.assert_close(compiled(x), module(x))
    torch.manual_seed(1)
    linear, act = nn.Linear(8, 16), nn.Tanh()
    for target in (fast, module):
        target.layers[2].norm.eps = 0.5
    torch.testing.assert_close(compiled(x), module(x))
    for target in (fast, module):
        target.layers[2].norm.eps = 1e-5
        target.layers[0] = linear
    torch.testing.assert_close(compiled(x), module(x))
    for target in (fast, module):
        target.layers[1] = act
    torch.testing.assert_close(compiled(x), module(x))


@torch.no_grad()
def test_torch_export_has_the_kernels_as_operators(pair) -> None:
    fast, module = pair
    if fast.__dict__.pop("name") not in WHOLE:
        pytest.skip("values decide which way it goes")
    x, other = torch.randn(6, 8), torch.randn(6, 8)
    exported = torch.export.export(copy.deepcopy(fast), (x,))
    assert has_kernels(exported.graph)
    torch.testing.assert_close(exported.module()(other), once(module, other))
    rows = torch.export.Dim("rows", min=2)
    free = torch.export.export(copy.deepcopy(fast), (x,), dynamic_shapes=({0: rows},))
    for n_rows in (6, 9):
        given = torch.randn(n_rows, 8)
        torch.testing.assert_close(free.module()(given), once(module, given))


@torch.no_grad()
def test_transforms_take_the_forward_of_the_module(pair) -> None:
    fast, module = pair
    if fast.__dict__.pop("name") not in ("whole", "prepared", "object"):
        pytest.skip("torch.func takes no values that decide, and no buffers that change")
    x, several = torch.randn(6, 8), torch.randn(3, 6, 8)
    torch.testing.assert_close(torch.func.vmap(fast)(several), torch.func.vmap(module)(several))
    for found, wanted in zip(*(torch.func.jvp(m, (x,), (x,)) for m in pair), strict=True):
        torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.func.jacfwd(fast)(x), torch.func.jacfwd(module)(x))
    with forward_ad.dual_level():
        found, wanted = (forward_ad.unpack_dual(m(forward_ad.make_dual(x, x))) for m in pair)
    torch.testing.assert_close(found.tangent, wanted.tangent)
    torch.testing.assert_close(torch.jit.trace(fast, x)(several[0]), module(several[0]))


@torch.no_grad()
def test_tensors_that_are_not_what_their_memory_holds(pair) -> None:
    fast, module = pair
    x = torch.randn(6, 8)
    zeros = torch._efficientzerotensor((6, 8))
    for given in (torch._neg_view(x), zeros):
        torch.testing.assert_close(once(fast, given), once(module, given))
    negated = copy.deepcopy(module)
    for weight in fast.parameters():
        weight.data = torch._neg_view(weight.data)
    for weight in negated.parameters():
        weight.data = -weight.data
    torch.testing.assert_close(once(fast, x), once(negated, x))


@torch.no_grad()
def test_where_tensors_are_made_elsewhere_by_default(pair) -> None:
    fast, module = pair
    x = torch.randn(6, 8)
    twins = copy.deepcopy(fast), copy.deepcopy(module)
    with torch.device("meta"):
        found = twins[0](x)
    torch.testing.assert_close(found, twins[1](x))


def test_inference_mode_has_the_kernels(pair) -> None:
    fast, module = pair
    del fast.name
    with torch.inference_mode():
        x = torch.randn(6, 8)
        torch.testing.assert_close(once(fast, x), once(module, x))
        for part in (fast.forward, fast):
            if hasattr(part, "why_not"):
                assert part.why_not(x) == ""


@torch.no_grad()
def test_two_builds_of_one_file_share_its_operators(tmp_path) -> None:
    task = TASKS["whole"]()
    best, other = proposals(task)[:2]
    paths = [write_source(one.candidate, tmp_path, "example") for one in (best, other)]
    module = open_reference(task).build(0)
    built = [kw.build(path) for path in (paths[0], paths[0], paths[1])]
    built.append(pickle.loads(pickle.dumps(built[0])))
    x = torch.randn(6, 8)
    for fast in built:
        fast.load_state_dict(module.state_dict())
        fast.layers[2].shift = module.layers[2].shift
    built[0:1] = []  # the first to be read goes, and its operators stay
    for fast in built:
        torch.testing.assert_close(make_fx(fast)(x)(x), module(x))


class Calls(torch.fx.Interpreter):
    """Notes the kernels' operators that a graph calls, with what they are given."""

    def __init__(self, graph: torch.fx.GraphModule) -> None:
        super().__init__(graph)
        self.seen: list[tuple[object, tuple[object, ...]]] = []

    def call_function(self, target, args, kwargs):
        if "kernels_" in str(target):
            self.seen.append((target, tuple(map(copy.deepcopy, args))))
        return super().call_function(target, args, kwargs)


@torch.no_grad()
def test_operators_keep_their_promises() -> None:
    """torch's own check of operators: schema, results without memory, and traces."""
    for name in ("whole", "prepared", "buffers"):
        namespace: dict[str, object] = {}
        best = proposals(TASKS[name]())[0]
        exec(compile(best.candidate.source, "candidate.py", "exec"), namespace)
        module, x = open_reference(TASKS[name]()).build(0), torch.randn(6, 8)
        fast = namespace["ModelNew"]()
        fast.load_state_dict(module.state_dict())
        traced = make_fx(fast)(x)
        calls = Calls(traced)
        calls.run(x)
        assert calls.seen
        for target, args in calls.seen:
            tests = ("test_schema", "test_faketensor")
            torch.library.opcheck(target, args, test_utils=tests)
