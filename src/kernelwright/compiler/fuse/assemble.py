"""Assembly of nodes into a Program: which values are in memory, in which order, under which
names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.capture import Captured
from kernelwright.compiler.capture.recurrent import own_recurrences
from kernelwright.compiler.fuse.attention import few_queries, own_attention
from kernelwright.compiler.fuse.flow import (
    Constant,
    Node,
    NoNest,
    Product,
    Source,
    Unsupported,
    row_major,
)
from kernelwright.compiler.fuse.fuse import Fusion, fuse
from kernelwright.compiler.fuse.layout import is_dense
from kernelwright.compiler.ir import capped
from kernelwright.compiler.ir.ir import Attention, Call, Program, Ref, Step, Tensor
from kernelwright.compiler.ir.reuse import reuse_memory
from kernelwright.compiler.ir.steps import variable
from kernelwright.compiler.lower.graph import (
    Flow,
    is_view,
    name_of,
    returned_by,
    tensor_of,
    to_flow,
    viewed,
)
from kernelwright.compiler.lower.joins import Slice, with_buffers


def assemble(flow: Flow, fusion: Fusion, lineage: tuple[str, ...] = ()) -> Program:
    """Return the program that computes what the captured graph computes."""
    return reuse_memory(_Assembly(flow, fusion).program(lineage))


def assemble_supported(
    captured: Captured,
    fusion: Fusion,
    supports: Callable[[Step], bool],
    *,
    products: bool,
    lineage: tuple[str, ...] = (),
    finish: Callable[[Program], Program] | None = None,
) -> Program:
    """Return the program, with calls in place of every own step that is not supported: of its
    products, if it has some that are not called yet, and else of all that it computes. ``finish``
    rewrites the steps before memory is reused.

    With ``fusion.few_queries``, attention of few queries is one step where that is supported, and
    else products and a softmax.
    """
    whole = few_queries(captured.graph) if products and fusion.few_queries else set()
    assembled = partial(
        _assembled, captured, fusion, supports, products=products, lineage=lineage, finish=finish
    )
    program = assembled(whole)
    return program if not whole or _is_own(program, whole) else assembled(set())


def _is_own(program: Program, whole: set[str]) -> bool:
    """Return whether all these calls have become own steps, of keys and values that no kernel of
    the program makes: those it would rather compute where they are read."""
    made = {
        t.name for step in program.own() for t in step.writes if not isinstance(step, Attention)
    }
    own = {step.result.name: step for step in program.steps if isinstance(step, Attention)}
    return whole <= own.keys() and not any({s.k.name, s.v.name} & made for s in own.values())


def _assembled(
    captured: Captured,
    fusion: Fusion,
    supports: Callable[[Step], bool],
    whole: Set[str],
    *,
    products: bool,
    lineage: tuple[str, ...],
    finish: Callable[[Program], Program] | None,
) -> Program:
    """Return the program; attention whose node's name is in ``whole`` is not taken apart."""
    called, apart = set(whole), set[str]()
    while True:
        flow = to_flow(
            captured,
            called,
            products=products,
            convolutions=fusion.convolutions,
            depthwise=fusion.depthwise,
            narrow=fusion.narrow,
            apart=apart,
        )
        if seen := flow.read_outside() - apart:
            apart |= seen
            continue
        assembly = _Assembly(flow, fusion)
        try:
            program = assembly.program(lineage)
        except NoNest as error:
            maker = assembly.flow.made_by.get(error.node)
            if maker is None or maker.name in called:
                raise
            called.add(maker.name)
            continue
        refused = [step.name for step in program.own() if not supports(step)]
        fresh = {node for name in refused for node in assembly.products[name]} - called
        fresh = fresh or {node for name in refused for node in assembly.made_from[name]} - called
        if not fresh:
            program = own_recurrences(program, supports)
            if finish is not None:
                program = finish(program)
            if products:
                program = own_attention(program, supports, fusion.least_attention)
            if any(isinstance(s, Call) and s.target.startswith(capped.NAME) for s in program.steps):
                raise Unsupported("capped attention that no kernel is written for")
            return reuse_memory(program)
        called |= fresh


@dataclass
class _Assembly:
    flow: Flow
    fusion: Fusion
    called: dict[fx.Node, None] = field(default_factory=dict)
    """Graph nodes that become calls: operators that only PyTorch can run, views and new tensors."""
    copies: set[fx.Node] = field(default_factory=set)
    """Graph nodes that change no number, and are called for tensors of their own."""
    required: dict[Node, None] = field(default_factory=dict)
    names: dict[Node, str] = field(default_factory=dict)
    after: dict[Node, frozenset[Node]] = field(default_factory=dict)
    made_from: dict[str, set[str]] = field(default_factory=dict)
    """Kernel name → names of the graph nodes that it computes."""
    products: dict[str, set[str]] = field(default_factory=dict)
    """Kernel name → names of those among them that are products."""

    def program(self, lineage: tuple[str, ...]) -> Program:
        captured = self.flow.captured
        by_name = {n.name: n for n in captured.graph.nodes}
        self._require_all()
        for graph_node, value in self.flow.values.items():
            if isinstance(value, Node) and graph_node not in self.called:
                self.names.setdefault(value, graph_node.name)
        place = {
            value: n for n, value in enumerate(self.flow.values.values()) if isinstance(value, Node)
        }
        for graph_node, parts in self.flow.parts.items():
            for number, part in enumerate(parts):
                self.names.setdefault(part, f"{graph_node.name}_part_{number}")
                place.setdefault(part, place[self.flow.values[graph_node]])
        required = sorted(self.required, key=lambda value: place.get(value, -1))
        groups = fuse(required, self.names, self.after, self.fusion, self._layouts())
        steps: list[tuple[set[str], Step]] = []
        at = {node: number for number, node in enumerate(captured.graph.nodes)}
        last: list[int] = []
        """The place in the graph of the last node that each step computes."""
        taken: set[str] = set()
        for graph_node in self.called:
            if graph_node in self.flow.joins:
                parts = self.flow.parts[graph_node]
                steps.append(({self.names[part] for part in parts}, self._joined(graph_node)))
            else:
                call = self._call(graph_node)
                steps.append(({ref.name for ref in _refs((call.args, call.kwargs))}, call))
            last.append(at[graph_node])
        checks = [self._check(by_name[name]) for name in captured.assumptions]
        steps += [({ref.name for ref in _refs(c.args)}, c) for check in checks for c in check]
        last += [-1] * (len(steps) - len(last))
        for group in groups:
            assert group.kernel is not None
            makers = self._makers(group.everything)
            origin = tuple(_plain(name_of(node)) for node in makers)
            name = variable("_".join(["fused", *origin[-3:]]), taken)
            self.made_from[name] = {node.name for node in makers}
            products = [node for node in group.everything if isinstance(node, Product)]
            self.products[name] = {node.name for node in self._makers(products)}
            kernel = replace(group.kernel, name=name, origin=origin)
            steps.append(({tensor.name for tensor in kernel.reads}, kernel))
            last.append(max((at[node] for node in makers), default=-1))
        in_order = [steps[number] for number in sorted(range(len(steps)), key=last.__getitem__)]
        changed = {path for _, path in captured.mutations}
        return Program(
            inputs=tuple(self._tensor(by_name[name]) for name in captured.inputs),
            attributes=tuple(
                (self._tensor(by_name[name]), path)
                for name, path in captured.attributes.items()
                if by_name[name].users or path in changed
            ),
            steps=tuple(with_buffers([*_ordered(in_order)], self._slices())),
            outputs=self._references(captured.outputs),
            mutations=tuple((self._name(by_name[n]), path) for n, path in captured.mutations),
            lineage=lineage,
            checks=tuple(check[-1].outputs[0].name for check in checks),
        )

    def _layouts(self) -> dict[Node, tuple[int, ...]]:
        """Return the strides that values have in the capture where PyTorch sees them.

        PyTorch reads its operands as they were laid out in the capture: its results' layout follows
        from theirs.
        """
        called = [call for call in self.called if call not in self.flow.joins]
        seen = [
            *_nodes(self.flow.captured.outputs),
            *(node for call in called for node in call.all_input_nodes),
        ]
        laid = {
            self.flow.values[node]: tensor_of("", node.meta["val"])
            for node in seen
            if node in self.flow.values
            and node not in self.called
            and isinstance(node.meta.get("val"), torch.Tensor)
        }
        dense = {
            value: tensor.strides if is_dense(tensor) else row_major(tensor).strides
            for value, tensor in laid.items()
        }
        return dense | {part: at.buffer.strides for part, at in self.flow.slices.items()}

    def _joined(self, graph_node: fx.Node) -> Call:
        """Return the call that gives a concatenation in place: a view of its buffer."""
        join = self.flow.joins[graph_node]
        return Slice(join.buffer, join.dim, 0).call(self.flow.values[graph_node].tensor)

    def _slices(self) -> dict[str, Slice]:
        """Return where tensors lie, by name."""
        joined = {
            node.name: Slice(join.buffer, join.dim, 0)
            for node, join in self.flow.joins.items()
            if node in self.called
        }
        parts = {self.names[part]: at for part, at in self.flow.slices.items()}
        return joined | parts

    def _check(self, mask: fx.Node) -> list[Call]:
        """Return the calls that check that ``mask`` is true exactly above its diagonal."""
        name, like = self._name(mask), self._tensor(mask)
        ones, upper = (replace(like, name=f"{name}_{part}") for part in ("ones", "upper"))
        holds = Tensor(f"{name}_is_causal", (), "", ())
        return [
            Call("torch.ops.aten.ones_like.default", (Ref(name),), (), (ones,)),
            Call("torch.ops.aten.triu.default", (Ref(ones.name), 1), (), (upper,)),
            Call("torch.ops.aten.equal.default", (Ref(name), Ref(upper.name)), (), (holds,)),
        ]

    def _makers(self, nodes: Sequence[Node]) -> list[fx.Node]:
        """Return the graph nodes that these values come from, in order."""
        makers = {self.flow.made_by.get(node) for node in nodes}
        return [node for node in self.flow.captured.graph.nodes if node in makers]

    def _require_all(self) -> None:
        """Find what must be in memory, and which values are copies there."""
        while True:
            for root in returned_by(self.flow.captured):
                self._require(root)
            fresh = {n.args[0] if _is_part(n) else n for n in self._sharing()}
            if not fresh:
                return
            self.copies |= fresh
            for found in (self.called, self.required, self.after):
                found.clear()

    def _sharing(self) -> Iterator[fx.Node]:
        """Yield values that PyTorch or the caller sees in the memory of another value, although the
        module's are tensors of their own: an operator that changes no number has no kernel. The
        library may read another value in its place, if that is laid out alike."""
        captured, seen = self.flow.captured, set(self._seen())
        of_buffers = {name for name, _ in captured.mutations}
        returned = set(viewed(_nodes(captured.outputs)))
        first: dict[Node, fx.Node] = {}
        for node in captured.graph.nodes:
            value = self.flow.values.get(node)
            is_made = node in self.called or (_is_part(node) and node.args[0] in self.called)
            if node not in seen or is_made or node.op == "placeholder":
                continue
            if isinstance(value, Source):
                strides = value.tensor.strides
                is_apart = node.name in of_buffers and value.tensor.name not in captured.inputs
            else:
                owner = first.setdefault(value, node)
                if owner is node:
                    continue
                strides, is_apart = owner.meta["val"].stride(), False
            if is_apart or node in returned or not _is_laid_out(node.meta["val"], strides):
                yield node

    def _seen(self) -> Iterator[fx.Node]:
        """Yield the values that the caller, the buffers and PyTorch's operators see in memory."""
        yield from returned_by(self.flow.captured)
        for call in self.called.keys() - self.flow.joins.keys():
            yield from call.all_input_nodes

    def _require(self, graph_node: fx.Node) -> frozenset[Node]:
        """Ensure that this value is in memory; return the kept nodes that it is, or is a view
        of."""
        value = self.flow.values.get(graph_node)
        if graph_node.op == "placeholder":
            return frozenset([value]) if value is not None else frozenset()
        if graph_node in self.called:
            pass
        elif (
            _is_part(graph_node) and not isinstance(value, Source) and not self._is_glue(graph_node)
        ):
            self.required[value] = None
            self._require_below(value)
            return frozenset([value])
        elif _is_part(graph_node):
            return self._require(graph_node.args[0])
        elif graph_node in self.flow.joins:
            self.called[graph_node] = None
            parts = frozenset(self.flow.parts[graph_node])
            self.after[value] = parts
            for part in parts - self.required.keys():
                self.required[part] = None
                self._require_below(part)
        elif graph_node in self.flow.calls or self._is_glue(graph_node):
            needs = [self._require(arg) for arg in graph_node.all_input_nodes]
            self.called[graph_node] = None
            results = value if isinstance(value, tuple) else (value,)
            for result in results:
                if result is not None:
                    self.after.setdefault(result, frozenset().union(*needs))
        elif isinstance(value, Node):
            self.required[value] = None
            self._require_below(value)
            return frozenset([value])
        kept = value if isinstance(value, tuple) else (value,)
        sources = frozenset(v for v in kept if isinstance(v, Source))
        return sources or frozenset().union(*(self.after[v] for v in kept if v in self.after))

    def _require_below(self, value: Node) -> None:
        """Require the calls whose results are read when ``value`` is computed."""
        stack, seen = [value], set()
        producers = {s: n for n, sources in self.flow.calls.items() for s in sources if s}
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in producers and producers[node] not in self.called:
                self._require(producers[node])
            stack.extend(node.args)

    def _is_glue(self, graph_node: fx.Node) -> bool:
        value = self.flow.values.get(graph_node)
        if isinstance(value, Constant) or not graph_node.all_input_nodes:
            return True
        operator = graph_node.args[0] if _is_part(graph_node) else graph_node
        return is_view(operator) or operator in self.copies

    def _call(self, graph_node: fx.Node) -> Call:
        args, kwargs = self._references((graph_node.args, dict(graph_node.kwargs)))
        target = "torch.ops." + str(graph_node.target)
        value = graph_node.meta["val"]
        values = value if isinstance(value, (tuple, list)) else (value,)
        outputs = tuple(
            _output(f"{graph_node.name}_{i}" if values is value else graph_node.name, part)
            for i, part in enumerate(values)
        )
        return Call(target, tuple(args), tuple(kwargs.items()), outputs, (name_of(graph_node),))

    def _references(self, structure: Any) -> Any:
        """Return ``structure`` with graph nodes replaced by references to tensors."""
        match structure:
            case fx.Node():
                return Ref(self._name(structure))
            case list() | tuple():
                return (
                    tuple(map(self._references, structure))
                    if isinstance(structure, tuple)
                    else [self._references(part) for part in structure]
                )
            case dict():
                return {key: self._references(part) for key, part in structure.items()}
        return structure

    def _name(self, graph_node: fx.Node) -> str:
        if graph_node.op == "placeholder":
            return graph_node.name
        value = self.flow.values.get(graph_node)
        if graph_node in self.called:
            return graph_node.name
        if _is_part(graph_node) and graph_node.args[0] in self.called:
            return f"{graph_node.args[0].name}_{graph_node.args[1]}"
        if isinstance(value, Source):
            return value.tensor.name
        return self.names[value]

    def _tensor(self, graph_node: fx.Node) -> Tensor:
        return tensor_of(graph_node.name, graph_node.meta["val"])


def _plain(operator: str) -> str:
    """Return an operator's plain name: 'batch_norm' for torch's
    _native_batch_norm_legit_functional."""
    operator = operator.strip("_").removeprefix("native_")
    for ending in ("_legit_functional", "_legit_no_training", "_with_indices"):
        operator = operator.removesuffix(ending)
    return operator


def _is_part(graph_node: fx.Node) -> bool:
    """Return whether the node takes one result of an operator that has several."""
    return graph_node.target is operator.getitem


def _is_laid_out(value: torch.Tensor, strides: Sequence[int]) -> bool:
    """Return whether a tensor has these strides, wherever it has more than one element."""
    pairs = zip(value.shape, value.stride(), strides, strict=True)
    return all(size < 2 or here == there for size, here, there in pairs)


def _output(name: str, value: Any) -> Tensor:
    """Return the Tensor of one result; results that are not tensors have a name only."""
    return tensor_of(name, value) if isinstance(value, torch.Tensor) else Tensor(name, (), "", ())


def _nodes(structure: Any) -> Iterator[fx.Node]:
    found: list[fx.Node] = []
    fx.node.map_arg(structure, found.append)
    return iter(found)


def _refs(structure: Any) -> Iterator[Ref]:
    match structure:
        case Ref():
            yield structure
        case list() | tuple():
            for part in structure:
                yield from _refs(part)
        case dict():
            yield from _refs(list(structure.values()))


def _ordered(steps: list[tuple[set[str], Step]]) -> Iterator[Step]:
    """Yield the steps so that each comes after those that compute its inputs; otherwise in their
    given order."""
    makers = {tensor.name: n for n, (_, step) in enumerate(steps) for tensor in _made(step)}
    done: set[int] = set()

    def visit(number: int) -> Iterator[Step]:
        if number in done:
            return
        done.add(number)
        for name in sorted(steps[number][0], key=lambda name: makers.get(name, -1)):
            if name in makers and makers[name] != number:
                yield from visit(makers[name])
        yield steps[number][1]

    for number in range(len(steps)):
        yield from visit(number)


def _made(step: Step) -> tuple[Tensor, ...]:
    return step.outputs if isinstance(step, Call) else step.writes
