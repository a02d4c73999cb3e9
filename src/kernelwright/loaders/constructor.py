"""The constructor's arguments, from Python values or from text, and how a task's text has them.

[1024, 4096]                                     by position, as JSON
{"hidden": 5}                                    by name, as JSON
transformers.LlamaConfig(hidden_size=256), 0     as in a call, with objects by their dotted names
config=transformers.BertConfig(), layer_idx=0
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.core.errors import TaskError

WRITE = """write [1024, 4096], {"hidden": 5}, or 'transformers.LlamaConfig(hidden_size=256), 0'"""
_WORDS = {"true": True, "false": False, "null": None, "none": None}
"""JSON's constants, which may stand in a call as well."""


@dataclass(frozen=True)
class Expression:
    """An argument that is no literal, as Python text, and the modules that the text names."""

    text: str
    modules: tuple[str, ...]

    def __repr__(self) -> str:
        return self.text


def constructor_arguments(
    init: Any, kwargs: Mapping[str, Any] | None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the constructor's arguments by position and by name.

    Raises:
        TaskError: ``init`` is neither a list nor a mapping nor the text of a call's arguments.
    """
    if isinstance(init, str):
        arguments, keywords = _read(init)
    elif isinstance(init, Mapping):
        arguments, keywords = [], dict(init)
    elif init is None or isinstance(init, Sequence):
        arguments, keywords = list(init or []), {}
    else:
        raise TaskError(
            "constructor arguments are a list or a mapping", seen=f"{init!r:.200}", do=WRITE
        )
    return arguments, {**keywords, **(kwargs or {})}


def _read(text: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = None
    if isinstance(value, list):
        return value, {}
    if isinstance(value, dict):
        return [], value
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise _not_understood(text, str(error)) from error
    if not isinstance(call, ast.Call) or any(word.arg is None for word in call.keywords):
        raise _not_understood(text, "no arguments of a call")
    return list(map(_value, call.args)), {str(w.arg): _value(w.value) for w in call.keywords}


def _value(node: ast.expr) -> Any:
    """Return a literal, or an Expression of calls of what is found by dotted names."""
    node = _Words().visit(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Expression(ast.unparse(node), tuple(dict.fromkeys(_modules(node))))


class _Words(ast.NodeTransformer):
    """Puts Python's constants in place of JSON's."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_WORDS[node.id]) if node.id in _WORDS else node


def _modules(node: ast.expr) -> Iterator[str]:
    """Yield the module of every dotted name in an expression.

    Raises:
        TaskError: the expression is no call of such names with arguments, or a name is not there.
    """
    match node:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            pass
        case ast.List(parts) | ast.Tuple(parts):
            for part in parts:
                yield from _modules(part)
        case ast.Dict(_, values):
            for part in values:
                yield from _modules(part)
        case ast.Call(function, parts, words):
            for part in (function, *parts, *(word.value for word in words)):
                yield from _modules(part)
        case ast.Attribute():
            yield _module_of(ast.unparse(node))
        case _:
            raise _not_understood(ast.unparse(node), "no literal and no dotted name")


def _module_of(name: str) -> str:
    """Return the module in which a dotted name is found."""
    place, _, rest = name.rpartition(".")
    steps = [rest]
    while place:
        try:
            found: Any = importlib.import_module(place)
            for step in steps:
                found = getattr(found, step)
            return place
        except ImportError as error:
            missing = str(error)
        except AttributeError as error:
            raise _not_understood(name, str(error)) from error
        place, _, rest = place.rpartition(".")
        steps.insert(0, rest)
    raise _not_understood(name, missing)


def _not_understood(text: str, why: str) -> TaskError:
    return TaskError(
        "the constructor arguments are not understood", seen=f"{text:.200} ({why})", do=WRITE
    )


def is_literal(value: Any) -> bool:
    """Whether ``repr(value)`` reads back as the same value."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False


def bound(
    target: type, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Bind the constructor's arguments, as many as possible by position.

    Raises:
        TaskError: the arguments do not fit the constructor's signature.
    """
    signature = inspect.signature(target)
    try:
        found = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise TaskError(
            f"the constructor arguments do not fit {target.__name__}{signature}",
            seen=f"{error} ({[*arguments]}, {dict(keywords)})"[:300],
            do="give them in order, --init '[1024, 4096]', or by name, --init '{\"hidden\": 5}'; "
            "objects as --init 'transformers.LlamaConfig(hidden_size=256)'",
        ) from error
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in signature.parameters.values() if p.kind in kinds]
    last = max((i for i, p in enumerate(positional) if p.name in found.arguments), default=0)
    for parameter in positional[:last]:
        if is_literal(parameter.default):
            found.arguments.setdefault(parameter.name, parameter.default)
    return list(found.args), dict(found.kwargs)
