"""Capture: a module and its inputs → a functional ATen graph with named attributes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.export import ExportedProgram, default_decompositions
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.node import map_arg
from torch.utils._pytree import tree_leaves

from kernelwright.compiler.capture.loops import roll_loops
from kernelwright.compiler.capture.numbers import ManyNumbers, stay_on_device, write_out
from kernelwright.compiler.capture.reads import HostReads
from kernelwright.compiler.capture.recurrent import left_whole, restore
from kernelwright.compiler.capture.rolled import roll
from kernelwright.compiler.capture.structures import described, made, mapped
from kernelwright.compiler.capture.written import join_written
from kernelwright.compiler.ir.ir import Ref
from kernelwright.compiler.ir.steps import variable
from kernelwright.compiler.lower.every import HANDLERS

if TYPE_CHECKING:
    from torch import fx

aten = torch.ops.aten
KEPT = frozenset({
    "linear", "matmul", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "scaled_dot_product_attention", "lstm", "gru",
    "rnn_tanh", "rnn_relu", "einsum", "dropout", "native_dropout", "bmm", "mm", "addmm", "baddbmm",
    "embedding_bag", "multinomial", "grid_sampler_2d", "upsample_nearest2d", "fold", "im2col",
})  # fmt: skip
"""Operators that are not decomposed although torch could: rewrite rules match them whole, and calls
are emitted for them."""


_TALKERS = (
    "torch.export",
    "torch.fx.experimental.symbolic_shapes",
    "torch._subclasses.fake_tensor",
)
_DIFFERING = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
"""Parts that train otherwise than they evaluate."""
MOST_COMPARED = 1000
"""Nodes of a graph up to which the other mode's is captured to compare them. That takes as long as
the first: for a loop over 256 tokens, as Mamba's in transformers, a search had no trial after 35 s
beside an H200."""
REAL = "real"
"""Key in a graph node's metadata that holds the value of an attribute."""


class CannotCapture(Exception):
    """torch.export cannot make one graph of this module: it breaks the graph, or branches on tensor
    values."""


@dataclass(frozen=True)
class Captured:
    """A functional graph, with the roles of its placeholders and outputs."""

    graph: fx.Graph
    inputs: tuple[str, ...]
    """Placeholders of the forward's tensor arguments, in order."""
    arguments: Mapping[str, Any]
    """The forward's arguments by parameter, as ``structures.described``: a Ref to a placeholder for
    each tensor, and the values of all else."""
    attributes: Mapping[str, str]
    """Placeholder → path of the parameter or buffer ('conv.weight')."""
    mutations: tuple[tuple[str, str], ...]
    """(node, path): buffers that the forward updates."""
    outputs: Any
    """The result of forward, as ``structures.described``, with graph nodes inside."""
    assumptions: tuple[str, ...] = ()
    """Nodes of masks that a rule found to be causal. The program must check at run time that they
    still are; they are computed from attributes alone."""
    as_written: Sequence[Any] = ()
    """The operators that the forward calls, before any is decomposed: ``facts_of`` that graph."""
    read: Mapping[str, Any] = field(default_factory=dict)
    """Placeholder → its values, where the forward reads them on the host: they are fixed."""


NO_NAMES: Mapping[str, Any] = {}


def capture(
    module: nn.Module,
    inputs: Sequence[Any],
    named: Mapping[str, Any] = NO_NAMES,
    *,
    gradients: bool = False,
    reads: bool = False,
) -> Captured:
    """Capture ``module(*inputs, **named)`` as a graph, in the module's current mode.

    With ``gradients`` the graph is the one that autograd differentiates: recurrent networks are
    unrolled in it. With ``reads`` the forward may read integers of the inputs on the host; the
    graph is that for their values.

    Raises:
        CannotCapture: the module has graph breaks, or control flow that depends on data.
    """
    with _failing_as_uncapturable(), torch.set_grad_enabled(gradients), quiet():
        host = HostReads(_tensors(module, inputs, named)) if reads else None
        program, signature, given = _exported(module, inputs, named, gradients=gradients, host=host)
        as_written = facts_of(program.graph)
        _refuse(program, module)
        program = program.run_decompositions(decompositions())
        if not stay_on_device(program.graph_module.graph):
            raise CannotCapture(_BY_VALUES)
        join_written(program.graph_module.graph)
        if not gradients:
            restore(program.graph_module.graph)
            roll(program.graph_module.graph)
            roll_loops(program.graph_module.graph)
        found = _read(program, module, signature, given)
        read = {found.inputs[n]: values for n, values in (host.read if host else {}).items()}
        return replace(found, as_written=as_written, read=read)


def _tensors(
    module: nn.Module, inputs: Sequence[Any], named: Mapping[str, Any]
) -> list[torch.Tensor]:
    """The tensors inside of arguments, in the order of a graph's placeholders: the forward's."""
    bound = inspect.signature(module.forward).bind(*inputs, **named)
    leaves = tree_leaves(described((bound.args, bound.kwargs)))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def as_written(
    module: nn.Module,
    inputs: Sequence[Any],
    named: Mapping[str, Any] = NO_NAMES,
    *,
    reads: bool = False,
) -> Sequence[Any]:
    """Return ``Captured.as_written`` alone, which takes a small part of the time of ``capture``.

    Raises:
        CannotCapture: as for ``capture``.
    """
    with _failing_as_uncapturable(), torch.no_grad(), quiet():
        host = HostReads(_tensors(module, inputs, named)) if reads else None
        return facts_of(_exported(module, inputs, named, gradients=False, host=host)[0].graph)


def _exported(
    module: nn.Module,
    inputs: Sequence[Any],
    named: Mapping[str, Any],
    *,
    gradients: bool,
    host: HostReads | None,
) -> tuple[ExportedProgram, inspect.Signature, Any]:
    """Return the program, the forward's signature, and the arguments by position and by name."""
    signature = inspect.signature(module.forward)
    bound = signature.bind(*inputs, **named)
    given = described(bound.args), described(bound.kwargs)
    with contextlib.nullcontext() if gradients else left_whole(), plain_forward(module, host):
        return torch.export.export(module, *given, strict=False), signature, given


@contextlib.contextmanager
def _failing_as_uncapturable() -> Iterator[None]:
    """Raise CannotCapture for what torch.export raises: exceptions of every kind."""
    try:
        yield
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise CannotCapture(in_short(error)) from error


def facts_of(graph: fx.Graph) -> list[Any]:
    """Return a graph's nodes as lists that can be compared: operator, arguments, and the shapes of
    the results, in which a size may be told from another number."""
    facts: list[Any] = []
    for node in graph.nodes:
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda arg: f"%{arg.name}")
        shapes = [
            list(value.shape)
            for value in tree_leaves(node.meta.get("val"))
            if isinstance(value, torch.Tensor)
        ]
        facts.append([node.op, node.name, str(node.target), _plain(args), _plain(kwargs), shapes])
    return facts


def _plain(value: Any) -> Any:
    """An argument as lists and dicts; what is no number goes by its text."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def is_same_in_both_modes(
    module: nn.Module,
    inputs: Sequence[Any],
    captured: Captured,
    named: Mapping[str, Any] = NO_NAMES,
) -> bool:
    """Whether ``captured`` is the graph of the module in training and in evaluation.

    Both are captured and compared, except where a part is known to make a difference, or where the
    same operators are called, which is found out faster. A graph of more than ``MOST_COMPARED``
    nodes counts as that of one mode alone.
    """
    if len(captured.as_written) > MOST_COMPARED or any(map(_differs, module.modules())):
        return False
    modes = {part: part.training for part in module.modules()}
    try:
        module.train(not module.training)
        reads = bool(captured.read)
        if as_written(module, inputs, named, reads=reads) == captured.as_written:
            return True
        return _facts(capture(module, inputs, named, reads=reads)) == _facts(captured)
    except CannotCapture:
        return False
    finally:
        for part, mode in modes.items():
            part.training = mode


def _differs(part: nn.Module) -> bool:
    return isinstance(part, _DIFFERING) and getattr(part, "p", 1.0) > 0.0


def _facts(captured: Captured) -> list[Any]:
    """What there is to compare of two graphs."""
    nodes = [
        (node.op, node.name, str(node.target), str(node.args), str(node.kwargs))
        for node in captured.graph.nodes
    ]
    names = (captured.inputs, dict(captured.attributes), captured.mutations, str(captured.outputs))
    return [*nodes, *names, captured.assumptions]


@contextlib.contextmanager
def plain_forward(module: nn.Module, host: HostReads | None = None) -> Iterator[None]:
    """Let the module take and return descriptions of objects, which torch.export may not know, and
    read values that the ``host`` has."""
    own, was = module.forward, vars(module).get("forward")

    @functools.wraps(own)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if host is None:
            return described(own(*made(args), **made(kwargs)))
        host.begin(_tensors(module, args, kwargs))
        with host:
            return described(own(*made(args), **made(kwargs)))

    vars(module)["forward"] = forward
    try:
        yield
    finally:
        del vars(module)["forward"]
        if was is not None:
            vars(module)["forward"] = was


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence what torch.export logs and prints about a module that it cannot trace."""
    loggers = [logging.getLogger(name) for name in _TALKERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.level = logging.CRITICAL
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.level = level


_BY_VALUES = (
    "values in its tensors decide which way it goes; parts without such a branch can be optimized "
    "alone, as file.py:Class"
)
_ASSERTIONS = {aten._assert_async.default, aten._assert_async.msg}
_LIFTED = {aten.lift_fresh.default, aten.lift_fresh_copy.default}
"""Operators that a trace applies first to a tensor that the forward makes of numbers."""
_ASSERTS = "it asserts something of its tensors' values; a forward that does not can be captured"
_UNHELD = (
    "it reads a tensor that it holds in a list or another object, or that lies outside of it; a "
    "module whose tensors are parameters, buffers or attributes can be captured"
)
_FAILURES = (
    (r"data-dependent", _BY_VALUES),
    (r"input type <class '([^']*)'>", "an argument is of class {}; leave it out, or give tensors, "
     "numbers, lists, tuples, dicts or dataclasses"),
    (r"Found <class '([^']*)'> in output", "its result holds a {}; leave that out (a cache with "
     "use_cache=False), or return it as a dataclass"),
    (r"\.numpy\(\) is not supported", "it leaves PyTorch for NumPy; torch's own functions can be "
     "captured"),
    (r"ScriptModule", "it is compiled by torch.jit; give the module that it was made from"),
)  # fmt: skip
"""Patterns of torch.export's errors, each with its meaning and a way out for the user."""


def in_short(error: Exception) -> str:
    """Say on one line why torch could not trace a module."""
    if isinstance(error, CannotCapture):
        return str(error)
    for pattern, meaning in _FAILURES:
        if found := re.search(pattern, str(error)):
            return meaning.format(*found.groups())
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


def decompositions() -> dict[Any, Any]:
    """Return torch's decompositions, without the operators that handlers or calls want whole."""
    whole = KEPT | HANDLERS.keys()
    return {
        operator: how
        for operator, how in default_decompositions().items()
        if operator.name().partition("::")[2].partition(".")[0] not in whole
    }


def _read(
    program: ExportedProgram, module: nn.Module, signature: inspect.Signature, given: Any
) -> Captured:
    """Return the exported program; ``given`` are its arguments by position and by name."""
    graph = program.graph_module.graph
    attributes: dict[str, str] = {}
    users: list[str] = []
    placeholders = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    specs = program.graph_signature.input_specs
    taken = {spec.arg.name for spec in specs if spec.kind is InputKind.USER_INPUT}
    for spec in specs:
        name = spec.arg.name
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and spec.target is not None:
            placeholders[name]._rename(variable(spec.target.replace(".", "_"), taken))
            attributes[placeholders[name].name] = spec.target
        elif spec.kind is InputKind.CONSTANT_TENSOR and spec.target is not None:
            if isinstance(_attribute(module, spec.target), torch.Tensor):
                attributes[name] = spec.target
            else:
                _write_out(graph, name, program.constants[spec.target])
        elif spec.kind is InputKind.USER_INPUT:
            users.append(name)
        else:
            raise CannotCapture(f"an input of kind {spec.kind}")
    for node in graph.nodes:
        if node.name in attributes:
            node.meta[REAL] = _attribute(module, attributes[node.name])
    waiting, tensors = iter(users), []

    def named(value: Any) -> Any:
        name = next(waiting)
        if not isinstance(value, torch.Tensor):
            return value
        tensors.append(name)
        return Ref(name)

    args, kwargs = mapped(named, given)
    if next(waiting, None) is not None:
        raise CannotCapture("an argument of another kind than tensors, containers and numbers")
    arguments = signature.bind(*args, **kwargs).arguments
    returned, mutations = _outputs(program, graph)
    return Captured(graph, tuple(tensors), arguments, attributes, mutations, returned)


def _refuse(program: ExportedProgram, module: nn.Module) -> None:
    """Raise CannotCapture for what kernels would leave out without a word: a check of values, and
    the changes of a tensor that is found under no name in the module, such as one in a list."""
    users = {node.name: list(node.users) for node in program.graph.nodes}
    if any(node.target in _ASSERTIONS for node in program.graph.nodes):
        raise CannotCapture(_ASSERTS)
    for spec in program.graph_signature.input_specs:
        if spec.kind is not InputKind.CONSTANT_TENSOR:
            continue
        is_held = isinstance(_attribute(module, spec.target or ""), torch.Tensor)
        if not is_held and any(user.target not in _LIFTED for user in users[spec.arg.name]):
            raise CannotCapture(_UNHELD)


def _write_out(graph: fx.Graph, name: str, value: torch.Tensor) -> None:
    try:
        write_out(graph, name, value)
    except ManyNumbers as many:
        raise CannotCapture(
            "a tensor that forward makes from Python numbers; a buffer with them can be captured"
        ) from many


def _attribute(module: nn.Module, path: str) -> Any:
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _outputs(program: ExportedProgram, graph: fx.Graph) -> tuple[Any, tuple[tuple[str, str], ...]]:
    (output,) = (node for node in graph.nodes if node.op == "output")
    values = list(output.args[0])
    mutations, returned = [], []
    for spec, value in zip(program.graph_signature.output_specs, values, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION and spec.target is not None:
            mutations.append((value.name, spec.target))
        elif spec.kind is OutputKind.USER_OUTPUT:
            returned.append(value)
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            raise CannotCapture(
                "it changes its input in place; a forward that returns the new "
                "values in another tensor can be captured"
            )
        else:
            raise CannotCapture(f"an output of kind {spec.kind}")
    structure = program.call_spec.out_spec  # lists, tuples and dictionaries, by plain_forward
    return torch.utils._pytree.tree_unflatten(returned, structure), tuple(mutations)
