"""A module's forward and backward as two graphs: what autograd would run, cut in two by torch.

torch differentiates the captured forward, operator by operator, and cuts the joint graph where the
fewest bytes have to be saved between the two: what is cheap is computed again in the backward.

Source:
    torch/_functorch/aot_autograd.py (aot_export_joint_simple) and torch/_functorch/partitioners.py
    (min_cut_rematerialization_partition, default_partition), of torch 2.11 and 2.13.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch._decomp import decomposition_table
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch._functorch.partitioners import (
    default_partition,
    min_cut_rematerialization_partition,
)
from torch.export import default_decompositions
from torch.nn.attention import SDPBackend, sdpa_kernel

from kernelwright.compiler.capture import library_attention, linear_cross_entropy
from kernelwright.compiler.capture.capture import (
    CannotCapture,
    Captured,
    capture,
    in_short,
    quiet,
)
from kernelwright.compiler.capture.norms import NORMS
from kernelwright.compiler.capture.structures import mapped
from kernelwright.compiler.ir.ir import Ref
from kernelwright.compiler.lower.graph import is_view

PARTITIONS: Mapping[str, Callable[..., tuple[fx.GraphModule, fx.GraphModule]]] = {
    "recompute": min_cut_rematerialization_partition,
    "save": default_partition,
}
"""Ways to cut: save few bytes and compute again, or save all that the backward reads."""
WHOLE = frozenset({
    "aten::embedding_dense_backward", "aten::_scaled_dot_product_flash_attention_for_cpu",
})  # fmt: skip
"""Operators that are called as they are, although torch could take them apart."""
APART = (torch.ops.aten._log_softmax.default,)
"""Operators that are taken apart although torch's compilers leave them whole: of a row's logarithms
only their sum has to be saved."""
RANDOM = ("rand", "dropout", "bernoulli", "normal", "multinomial", "rrelu")


@dataclass(frozen=True)
class Joint:
    """A module's forward and backward."""

    forward: Captured
    """Its outputs are a pair: what the module returns, and the list of values that are saved."""
    backward: Captured
    """Its inputs are the saved values, then a cotangent for every result in ``differentiated``. Its
    outputs are the gradients in the order of ``trained``."""
    saved: tuple[str, ...]
    """The saved values as nodes of ``forward``; inputs and attributes may be among them."""
    results: tuple[str, ...]
    """Nodes of the tensors that the module returns, each once."""
    differentiated: tuple[str, ...]
    """The results that have gradients."""
    trained: tuple[str, ...]
    """The inputs and attributes of ``forward`` that get gradients."""


def capture_joint(
    module: nn.Module,
    inputs: Sequence[Any],
    places: Collection[int],
    partition: str,
    device_kind: str = "cpu",
) -> Joint:
    """Capture forward and backward of ``module(*inputs)``, cut in a way of ``PARTITIONS``.

    ``places``: the positions of the inputs that get gradients; parameters get one if they require
    one. Attention is called; on devices other than a CPU it is taken apart where the library's
    kernels do not take it.

    Raises:
        CannotCapture: the forward cannot be captured, draws random numbers, updates buffers, or
            returns one of its inputs.
    """
    captured = capture(module, inputs, gradients=True)
    _require_trainable(captured)
    results = list(dict.fromkeys(_nodes(captured.outputs)))
    trained = _trained(captured, module, places)
    try:
        with torch.enable_grad(), quiet(), _attention(device_kind):
            joint, has_gradient = _differentiated(captured, results, trained, device_kind)
            cut = PARTITIONS[partition]
            forward, backward = cut(joint, None, num_fwd_outputs=len(results))
    except (MemoryError, KeyboardInterrupt):
        raise
    # torch raises exceptions of every kind where it cannot differentiate what it has traced
    except Exception as error:
        raise CannotCapture(f"of its gradients: {in_short(error)}") from error
    return _joined(captured, (forward.graph, backward.graph), results, has_gradient, trained)


def _attention(device_kind: str) -> AbstractContextManager[None]:
    """How torch traces attention, on a CPU, for this kind of device."""
    return nullcontext() if device_kind == "cpu" else sdpa_kernel(SDPBackend.MATH)


def _require_trainable(captured: Captured) -> None:
    if captured.mutations:
        paths = ", ".join(path for _, path in captured.mutations)
        raise CannotCapture(f"a training step that updates buffers ({paths}), as batch norm does")
    for node in captured.graph.nodes:
        name = getattr(node.target, "__name__", str(node.target))
        is_off = "dropout" in name and len(node.args) > 2 and node.args[2] is False
        if node.op == "call_function" and any(word in name for word in RANDOM) and not is_off:
            raise CannotCapture(f"a training step that draws random numbers ({name})")
    if any(node.op == "placeholder" for node in _nodes(captured.outputs)):
        raise CannotCapture("a training step that returns one of its inputs")


def _trained(captured: Captured, module: nn.Module, places: Collection[int]) -> tuple[str, ...]:
    """The placeholders that get gradients, in the graph's order."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    kinds = inspect.signature(module.forward).parameters
    given: list[Any] = []
    for name, value in captured.arguments.items():
        is_several = kinds[name].kind is inspect.Parameter.VAR_POSITIONAL
        given += value if is_several else [value]
    wanted = {given[place].name for place in places if isinstance(given[place], Ref)}
    for name, path in captured.attributes.items():
        if path in parameters and parameters[path].requires_grad:
            wanted.add(name)
    return tuple(node.name for node in _tensors(captured) if node.name in wanted)


def _tensors(captured: Captured) -> list[fx.Node]:
    """The placeholders of tensors: the arguments of the function that is differentiated."""
    placeholders = (node for node in captured.graph.nodes if node.op == "placeholder")
    return [node for node in placeholders if isinstance(node.meta.get("val"), torch.Tensor)]


def _differentiated(
    captured: Captured, results: Sequence[fx.Node], trained: Collection[str], device_kind: str
) -> tuple[fx.GraphModule, list[bool]]:
    """The joint graph, and which results have gradients."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    tensors = _tensors(captured)
    for node in captured.graph.nodes:
        if node in tensors or node.op == "call_function":
            copies[node] = graph.node_copy(node, lambda arg: copies[arg])
    graph.output(tuple(_unaliased(graph, node, copies[node]) for node in results))
    linear_cross_entropy.replaced(graph)
    if device_kind != "cpu":
        library_attention.kept_whole(graph)
    function = fx.GraphModule(nn.Module(), graph)
    given = [node.meta["val"].detach().requires_grad_(node.name in trained) for node in tensors]
    has_gradient = [result.requires_grad for result in function(*given)]
    table = {
        operator: how
        for operator, how in default_decompositions().items()
        if operator.name().partition(".")[0] not in WHOLE
    }
    table |= {operator: decomposition_table[operator] for operator in APART} | NORMS
    joint = aot_export_joint_simple(
        lambda *tensors: function(*tensors), tuple(given), trace_joint=True, decompositions=table
    )
    for node in joint.graph.nodes:
        if node.target is torch.ops.aten.alias.default:
            node.replace_all_uses_with(node.args[0])
    _know_sums(joint.graph)
    joint.graph.eliminate_dead_code()
    return joint, has_gradient


def _know_sums(graph: fx.Graph) -> None:
    """Replace the sum of a row that is zero but for one number, as a gather's gradient is, by that
    number: a cross entropy's backward would go over all of its classes for it."""
    for node in list(graph.nodes):
        if node.target is not torch.ops.aten.sum.dim_IntList or node.args[2:] != (True,):
            continue
        row = node.args[0]
        while row.target is torch.ops.aten._to_copy.default:
            row = row.args[0]
        if row.target is not torch.ops.aten.scatter_add.default:
            continue
        zeros, dim, _, number = row.args
        is_zero = zeros.target is torch.ops.aten.full.default and zeros.args[1] == 0
        if is_zero and node.args[1] == [dim] and number.meta["val"].shape == node.meta["val"].shape:
            kind = {"dtype": node.meta["val"].dtype}
            with graph.inserting_before(node):
                known = graph.call_function(torch.ops.aten._to_copy.default, (number,), kind)
            known.meta = dict(node.meta)
            node.replace_all_uses_with(known)


def _unaliased(graph: fx.Graph, node: fx.Node, copied: fx.Node) -> fx.Node:
    """The result, or a clone of it where it is a view, which torch refuses to differentiate so."""
    maker = node.args[0] if node.target is operator.getitem else node
    if not (isinstance(maker, fx.Node) and is_view(maker)):
        return copied
    return graph.call_function(torch.ops.aten.clone.default, (copied,))


def _joined(
    captured: Captured,
    graphs: tuple[fx.Graph, fx.Graph],
    results: Sequence[fx.Node],
    has_gradient: Sequence[bool],
    trained: tuple[str, ...],
) -> Joint:
    """Both graphs with the roles of their placeholders and outputs, under the captured names."""
    forward, backward = graphs
    for graph in graphs:
        linear_cross_entropy.add_in_place(graph)
    _save_bases(forward, backward, len(results))
    tensors = _tensors(captured)
    placeholders = [node for node in forward.nodes if node.op == "placeholder"]
    new_of = {old.name: new for new, old in zip(placeholders, tensors, strict=True)}
    returned = list(_output(forward))
    made, saved = returned[: len(results)], returned[len(results) :]
    by_result = dict(zip(results, made, strict=True))
    outputs = fx.node.map_arg(captured.outputs, lambda node: by_result[node])
    first = Captured(
        graph=forward,
        inputs=tuple(new_of[name].name for name in captured.inputs),
        arguments=mapped(
            lambda value: Ref(new_of[value.name].name) if isinstance(value, Ref) else value,
            dict(captured.arguments),
        ),
        attributes={new_of[name].name: path for name, path in captured.attributes.items()},
        mutations=(),
        outputs=(outputs, saved),
    )
    gradients = dict(zip((node.name for node in tensors), _output(backward), strict=True))
    given = tuple(node.name for node in backward.nodes if node.op == "placeholder")
    arguments = {name: Ref(name) for name in given}
    second = Captured(backward, given, arguments, {}, (), [gradients[name] for name in trained])
    return Joint(
        forward=first,
        backward=second,
        saved=tuple(node.name for node in saved),
        results=tuple(node.name for node in made),
        differentiated=tuple(
            node.name for node, has in zip(made, has_gradient, strict=True) if has
        ),
        trained=tuple(new_of[name].name for name in trained),
    )


def _save_bases(forward: fx.Graph, backward: fx.Graph, n_results: int) -> None:
    """Let what is a view of an input or a weight be viewed in the backward, not saved.

    torch refuses views that were made without gradients once what they are views of has changed.
    """
    (output,) = (node for node in forward.nodes if node.op == "output")
    returned = list(output.args[0])
    given = {node.name: node for node in backward.nodes if node.op == "placeholder"}
    first = next(node for node in backward.nodes if node.op != "placeholder")
    kept: list[fx.Node] = []
    for saved in returned[n_results:]:
        views, base = [], saved
        while is_view(base) and len(base.all_input_nodes) == 1:
            views.append(base)
            base = base.args[0]
        if not views or base.op != "placeholder":
            kept.append(saved)
            continue
        if base.name not in given:
            with backward.inserting_before(given[saved.name]):
                given[base.name] = backward.placeholder(base.name)
            given[base.name].meta = dict(base.meta)
        if base not in kept:
            kept.append(base)
        value = given[base.name]
        for view in reversed(views):
            with backward.inserting_before(first):
                here = {view.args[0]: value}
                value = backward.node_copy(view, lambda arg, here=here: here[arg])
        given[saved.name].replace_all_uses_with(value)
        backward.erase_node(given.pop(saved.name))
    kept = list(dict.fromkeys(kept))
    order = {node.name: place for place, node in enumerate(kept)}
    for name in sorted(order, key=order.__getitem__, reverse=True):
        _move_first(backward, given[name])
    output.args = ((*returned[:n_results], *kept),)


def _move_first(graph: fx.Graph, node: fx.Node) -> None:
    first = next(iter(graph.nodes))
    if first is not node:
        first.prepend(node)


def _output(graph: fx.Graph) -> Any:
    (output,) = (node for node in graph.nodes if node.op == "output")
    return output.args[0]


def _nodes(structure: Any) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.node.map_arg(structure, found.append)
    return found
