"""The engine that applies rules to a copy of a captured graph until none applies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.capture import Captured
from kernelwright.compiler.capture.recurrent import CELLS
from kernelwright.compiler.capture.structures import mapped
from kernelwright.compiler.ir.ir import Ref
from kernelwright.compiler.lower.graph import name_of
from kernelwright.compiler.rewrite import dense
from kernelwright.compiler.rewrite.conditions import ASSUMES
from kernelwright.compiler.rewrite.pattern import build, call, match, operator_of, parsed
from kernelwright.compiler.rewrite.table import RULES, Rule
from kernelwright.compiler.rewrite.terms import Term, term_of

MAX_STEPS = 200
"""Limit on the number of rule applications, well above the number of nodes. Every rule makes the
graph smaller or moves an operator towards the inputs; the limit stops a table with a rule and its
reverse."""


def rewrite(
    captured: Captured, rules: Sequence[Rule] = RULES, *, least_bytes: int = dense.LEAST_BYTES
) -> tuple[Captured, tuple[str, ...]]:
    """Return the rewritten graph, and the names of the rules in the order in which they were
    applied. ``least_bytes``: see ``dense.statistics_of_parts``."""
    captured = _copy(captured)
    graph = captured.graph
    applied: list[str] = []
    strides = [node.meta["val"].stride() for node in _returned(captured.outputs)]
    limit = MAX_STEPS + len(graph.nodes)
    terms = _Terms()
    while len(applied) < limit:
        rule = _apply_one(graph, rules, terms)
        if rule is None:
            break
        applied.append(rule.name)
    if rules and dense.statistics_of_parts(graph, least_bytes):
        applied.append(dense.NAME)
    _laid_out_once(graph)
    (output,) = (node for node in graph.nodes if node.op == "output")
    returned, mutated, assumed = output.args[0]
    mutations = tuple(
        (node.name, path) for node, (_, path) in zip(mutated, captured.mutations, strict=True)
    )
    _propagate(graph)
    returned = _laid_as_before(graph, returned, strides)
    assumptions = tuple(dict.fromkeys(node.name for node in assumed))
    rewritten = replace(
        captured, graph=graph, outputs=returned, mutations=mutations, assumptions=assumptions
    )
    return rewritten, tuple(dict.fromkeys(applied))


def _laid_out_once(graph: fx.Graph) -> None:
    """Make one copy of a value that some operator wants in another layout, and let all later users
    read it. Values that the module returns keep their layout."""
    (output,) = (node for node in graph.nodes if node.op == "output")
    laid: dict[tuple[fx.Node, Any], fx.Node] = {}
    for node in list(graph.nodes):
        if node.target != torch.ops.aten.contiguous.default or not node.kwargs:
            continue
        (source,), layout = node.args, node.kwargs["memory_format"]
        first = laid.setdefault((source, layout), node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)
        elif source.op == "call_function" and isinstance(source.meta["val"], torch.Tensor):
            source.append(node)
            others = [user for user in source.users if user not in (node, output)]
            for user in others:
                user.replace_input_with(source, node)


def _returned(structure: Any) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.node.map_arg(structure, found.append)
    return found


def _laid_as_before(graph: fx.Graph, returned: Any, strides: Sequence[tuple[int, ...]]) -> Any:
    """Return ``returned``, with copies where another layout than the module's own would otherwise
    leave it. Own kernels store results as these say; a call of PyTorch gives row-major ones."""
    copies: dict[fx.Node, fx.Node] = {}
    (output,) = (node for node in graph.nodes if node.op == "output")
    for node, wanted in zip(_returned(returned), strides, strict=True):
        value = node.meta["val"]
        if value.stride() != wanted:
            with graph.inserting_before(output):
                copies[node] = call(graph, "contiguous", node)
                copies[node].meta["val"] = value.new_empty_strided(value.shape, wanted)
    laid = fx.node.map_arg(returned, lambda node: copies.get(node, node))
    output.args = ((laid, *output.args[0][1:]),)
    return laid


def _copy(captured: Captured) -> Captured:
    """Return a copy to change; its graph's output is (returned, new buffers, assumed)."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    for node in captured.graph.nodes:
        if node.op != "output":
            copies[node] = graph.node_copy(node, lambda arg: copies[arg])
    names = {node.name: copy.name for node, copy in copies.items()}
    by_name = {node.name: copy for node, copy in copies.items()}
    mutated = [by_name[name] for name, _ in captured.mutations]
    graph.output((fx.node.map_arg(captured.outputs, lambda node: copies[node]), mutated, []))
    return replace(
        captured,
        graph=graph,
        inputs=tuple(names[name] for name in captured.inputs),
        arguments={
            parameter: mapped(
                lambda part: Ref(names[part.name]) if type(part) is Ref else part, value
            )
            for parameter, value in captured.arguments.items()
        },
        attributes={names[name]: path for name, path in captured.attributes.items()},
    )


def _propagate(graph: fx.Graph) -> None:
    """Recompute every value's description: shapes stay, but strides may have changed.

    A view of a value in another layout may need a copy, which ``reshape`` makes if needed.
    """
    for node in graph.nodes:
        if node.op != "call_function" or name_of(node) in CELLS:
            continue  # torch would unroll a recurrent network; no rule changes its layout
        if node.target in (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default):
            node.target = torch.ops.aten.reshape.default
        values, named = fx.node.map_arg((node.args, node.kwargs), lambda arg: arg.meta["val"])
        fake = next((arg.meta["val"] for arg in node.all_input_nodes), None)
        if isinstance(fake, torch.Tensor):
            with fake.fake_mode, torch.no_grad():
                node.meta["val"] = node.target(*values, **named)
        elif isinstance(fake, (tuple, list)):
            node.meta["val"] = node.target(*values, **named)


class _Terms:
    """The terms of a graph's nodes. Each is found once, and again when a rule has changed it."""

    def __init__(self) -> None:
        self._known: dict[fx.Node, Term | None] = {}

    def of(self, node: fx.Node) -> Term | None:
        """Return the term of a node."""
        if node not in self._known:
            self._known[node] = term_of(node)
        return self._known[node]

    def forget_users(self, node: fx.Node) -> None:
        """Forget the terms of those that use a node, directly or as a number that is copied."""
        for user in node.users:
            self._known.pop(user, None)
            if user.op == "call_function" and name_of(user) == "clone":
                self.forget_users(user)


def _apply_one(graph: fx.Graph, rules: Sequence[Rule], terms: _Terms) -> Rule | None:
    """Apply the first rule that matches anywhere and return it; None if no rule matches."""
    by_operator: dict[str, list[fx.Node]] = {}
    for node in graph.nodes:
        if (term := terms.of(node)) is not None:
            by_operator.setdefault(term.op, []).append(node)
    for rule in rules:
        for node in by_operator.get(operator_of(rule.pattern), ()):
            for found in match(parsed(rule.pattern), node, {}):
                extra = rule.when(found) if _is_closed(found[""]) else None
                if extra is not None:
                    terms.forget_users(_replace(graph, rule, node, {**found, **extra}))
                    return rule
    return None


def _is_closed(covered: tuple[fx.Node, ...]) -> bool:
    """Return whether only the match uses its inner values; otherwise they would be computed
    twice."""
    return all(set(node.users) <= set(covered) for node in covered[1:])


def _replace(graph: fx.Graph, rule: Rule, node: fx.Node, found: dict[str, Any]) -> fx.Node:
    """Replace what a rule has found by what it says, and return that."""
    with graph.inserting_before(node):
        new = build(parsed(rule.replacement), graph, found)
    old, value = node.meta["val"], new.meta["val"]
    if (old.shape, old.dtype) != (value.shape, value.dtype):
        raise AssertionError(
            f"{rule.name}: {value.shape} {value.dtype} for {old.shape} {old.dtype}"
        )
    node.replace_all_uses_with(new)
    if ASSUMES in found:
        (output,) = (n for n in graph.nodes if n.op == "output")
        returned, mutated, assumed = output.args[0]
        output.args = ((returned, mutated, [*assumed, found[ASSUMES]]),)
    for dead in reversed(graph.nodes):
        if not dead.users and dead.op not in ("placeholder", "output"):
            graph.erase_node(dead)
    return new
