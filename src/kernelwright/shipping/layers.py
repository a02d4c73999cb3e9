"""``hf``: a package for Hugging Face's ``kernels``, which gives its forward to other modules.

The library binds the forward of a stateless layer to the modules of a model. The methods of
``ModelNew`` therefore become functions of that module, and what the kernels are not made for goes
to the module's own forward.

Source:
    kernels 0.17: ``kernels.layer.layer._validate_layer``, ``kernels.importer``.
"""

from __future__ import annotations

import ast
import itertools
import json
import textwrap
from collections.abc import Iterable

from torch import nn

from kernelwright.compiler.candidate.unchanged import description_of
from kernelwright.core.errors import UsageError
from kernelwright.core.syntax import lines, parse
from kernelwright.loaders import open_reference
from kernelwright.loaders.training_step import CANDIDATE as STEP
from kernelwright.shipping.shipment import Shipment

OWN_FORWARD = "_reference_forward"
_GRADIENTS = ("register_autograd", "(torch.autograd.Function)")
"""Texts of a file that gives gradients."""
_SEED = 0
"""Seed of the reference's weights, of which only the names matter."""
_KEPT_OUT = frozenset({"__init__", "why_not", "_difference", OWN_FORWARD})
"""Methods of ``ModelNew`` that a layer does not need, or has in another form."""
_OWN = f'''\
def {OWN_FORWARD}(module, *given, **named):
    """The module's own forward: it serves what the kernels are not made for."""
    {{telling}}return type(module).forward(module, *given, **named)'''
_TELLING = """\
missed(module, {launches}(module, *given, **named))
    """
"""For a forward that refuses what it is not made for, and so has nothing to tell."""
_INIT = """\
{header}
from . import layers

__all__ = ["layers"]
"""
_LAYERS = '''\
{header}
from torch import nn

from . import kernel


class {layer}(nn.Module):
    """A forward for modules whose parameters have the names of {reference}'s."""

    has_backward = {has_backward}
    can_torch_compile = {can_compile}
    forward = kernel.{forward}
'''


def files(shipment: Shipment) -> dict[str, str | bytes]:
    """The package's files by their paths.

    Raises:
        UsageError: the kernel's forward cannot be given to another module.
    """
    text = shipment.source(shipment.id)
    functions = _Functions(text, shipment)
    needed = ["triton"] if shipment.candidate.dialect == "triton" else []
    metadata = {
        "name": shipment.name.replace("_", "-"),
        "id": shipment.id,
        "version": 1,
        "license": shipment.license,
        "python-depends": needed,
        "backend": {"type": shipment.backend},
    }
    head = shipment.header(f"{shipment.layer} as a layer for Hugging Face's kernels.")
    layers = _LAYERS.format(
        header=head,
        layer=shipment.layer,
        reference=shipment.task.model,
        has_backward=any(each in text for each in _GRADIENTS),
        can_compile=shipment.has_operators,
        forward=functions.name_of("forward"),
    )
    inside = {
        "__init__.py": _INIT.format(header=head),
        "layers.py": layers,
        "kernel.py": functions.text(),
        "metadata.json": json.dumps(metadata, indent=1) + "\n",
        **shipment.evidence(),
    }
    return {f"build/torch-{shipment.backend}/{path}": text for path, text in inside.items()}


class _Functions:
    """A candidate's text with the methods of its class as functions, each called as before.

    Raises:
        UsageError: they need more than a module with the reference's attributes.
    """

    def __init__(self, source: str, shipment: Shipment) -> None:
        self.tree = parse(source)
        self.source = source
        self.entry = shipment.entry
        classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}
        if self.entry not in classes:
            raise _no_layer(f"{self.entry} is no class at the top level of its file")
        self.model = classes[self.entry]
        self.left_out = [classes[name] for name in (self.entry, STEP) if name in classes]
        methods = [node for node in self.model.body if isinstance(node, ast.FunctionDef)]
        self.methods = [node for node in methods if node.name not in _KEPT_OUT]
        self.taken = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        self.taken |= set(classes)
        built = open_reference(shipment.task).build(_SEED)
        self.module: nn.Module = vars(built).get("_module", built)  # of a training step
        self._require_fit()

    def _require_fit(self) -> None:
        methods = {node.name for node in self.methods} | {OWN_FORWARD}
        others = [node for node in self.tree.body if node not in self.left_out]
        used = {
            node.attr
            for method in self.methods
            for node in ast.walk(method)
            if isinstance(node, ast.Attribute) and _is_self(node.value)
        }
        missing = sorted(name for name in used - methods if not hasattr(self.module, name))
        named = [name for name in _names((*others, *self.methods)) if name == self.entry]
        named += [name for name in _names(self.methods) if name in ("super", "__class__")]
        if "forward" not in methods:
            raise _no_layer(f"{self.entry} has no forward: only parts of it are kernels")
        if missing:
            raise _no_layer(f"its forward needs {', '.join(missing)}, which its constructor makes")
        if named:
            raise _no_layer(f"its forward names {named[0]}")

    def name_of(self, method: str) -> str:
        """The name of the function that a method becomes."""
        name = method
        while name in self.taken:
            name += "_"
        return name

    def text(self) -> str:
        """The whole file."""
        functions = "\n\n\n".join([self._own(), *map(self._function, self.methods)])
        edits = [
            (*_span(self.source, node), functions if node is self.model else "")
            for node in self.left_out
        ]
        return self._described(_edited(self.source, edits).rstrip()) + "\n"

    def _own(self) -> str:
        """The function that serves what the kernels do not, and tells of it."""
        names = {node.name for node in self.methods}
        tells = any(name.startswith("missed") for name in _names(self.methods))
        if tells or "_launches_for" not in names:
            return _OWN.format(telling="")
        return _OWN.format(telling=_TELLING.format(launches=self.name_of("_launches_for")))

    def _function(self, method: ast.FunctionDef) -> str:
        """The text of a method as a function, which calls the others as functions."""
        names = {node.name for node in self.methods} | {OWN_FORWARD}
        called = {id(node.func): node for node in ast.walk(method) if isinstance(node, ast.Call)}
        edits = []
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and _is_self(node.value) and node.attr in names:
                name, call = self.name_of(node.attr), called.get(id(node))
                start, end = _span(self.source, node)
                if call is None:
                    edits.append((start, end, f"functools.partial({name}, self)"))
                else:
                    opened = self.source.index("(", end) + 1
                    more = ", " if call.args or call.keywords else ""
                    edits.append((start, opened, f"{name}(self{more}"))
        start, end = _span(self.source, method)
        body = _edited(self.source[:end], edits)[start:]
        body = textwrap.dedent(" " * method.col_offset + body)
        return body.replace(f"def {method.name}(", f"def {self.name_of(method.name)}(", 1)

    def _described(self, text: str) -> str:
        """The text with a description of the reference's own module: the candidate may have
        rebuilt it from its state, and the classes of its file may come from any file here."""
        for node in parse(text).body:
            match node:
                case ast.Assign(
                    value=ast.Call(args=[ast.Dict() as parts, ast.Name(id="__name__") as home, *_])
                ):
                    mode = "training" in ast.literal_eval(parts)[""][1]
                    described = _parts_text(self.module, mode=mode)
                    edits = [(*_span(text, parts), described), (*_span(text, home), "None")]
                    return _edited(text, edits)
        return text


def _span(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Where a node begins and ends in a text, in characters."""
    rows = lines(text)
    starts = list(itertools.accumulate(map(len, rows), initial=0))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(rows[line - 1].encode()[:column].decode())

    end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
    first = min([node, *getattr(node, "decorator_list", [])], key=lambda each: each.lineno)
    start = place(first.lineno, first.col_offset)
    return start - (first is not node), end  # a decorator begins with an @


def _edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with these spans replaced."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _no_layer(seen: str) -> UsageError:
    return UsageError(
        "this kernel cannot be a layer of Hugging Face's kernels", seen=seen, do="take --to op"
    )


def _parts_text(module: nn.Module, *, mode: bool) -> str:
    described = description_of(module, type(module).__module__, mode)
    rows = "\n".join(f"        {path!r}: {part!r}," for path, part in described.items())
    return f"{{\n{rows}\n    }}"


def _names(nodes: Iterable[ast.AST]) -> list[str]:
    return [n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)]


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
