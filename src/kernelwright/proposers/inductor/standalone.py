"""Converts generated code into one file that only needs torch: kernels as text with plain calls."""

from __future__ import annotations

import ast
import builtins
import textwrap
from typing import TypeGuard

from kernelwright.compiler.candidate.guard import (
    IMPORTS,
    checks_text,
    form_text,
    inputs_table,
    known_table,
    modules_table,
)
from kernelwright.compiler.candidate.module import (
    Face,
    dispatch_lines,
    file_text,
    guard_text,
)
from kernelwright.compiler.candidate.splice import splice
from kernelwright.core.syntax import parse, parse_expression
from kernelwright.core.task import Task
from kernelwright.proposers.inductor.cpp_text import cpp_kernels
from kernelwright.proposers.inductor.generated import Argument, Generated
from kernelwright.proposers.inductor.metal_text import LIBRARY as METAL
from kernelwright.proposers.inductor.metal_text import metal_kernels
from kernelwright.proposers.inductor.triton_text import triton_kernels
from kernelwright.proposers.inductor.wanted import GeneratedKernel, NotStandalone

__all__ = ["NotStandalone", "standalone"]

DROPPED = {"assert_size_stride", "assert_alignment", "get_raw_stream", "clear", "set_device"}
WAYS = ("True", '"it is traced"')
"""What a plain call is told, and one that is traced: there are no operators here."""
MPS_WAYS = ("True", "True")
"""A call on ``mps`` looks traced where the emulation watches it."""
LIBRARY = {"mm", "addmm", "bmm", "baddbmm", "convolution"}
VIEW = """\
def _view(tensor, shape, strides, offset):
    return tensor.as_strided(shape, strides, tensor.storage_offset() + offset)"""


def standalone(generated: Generated, task: Task) -> str:
    """Return the text of the candidate file.

    Raises:
        NotStandalone: the code needs something that a standalone file does not have.
    """
    tree = parse(generated.code)
    try:
        reference = splice(task.source, task.entry, "ModelNew")
    except LookupError as error:
        raise NotStandalone(f"no {error}") from error
    sources = dict(filter(None, map(_source, tree.body)))
    is_mps = generated.device == "mps"
    is_cpp = generated.device == "cpu" and not any("@triton.jit" in s for s in sources.values())
    if is_mps:
        made = metal_kernels(sources, generated.code)
    else:
        made = cpp_kernels(sources) if is_cpp else triton_kernels(sources, generated.configs)
    call = next((n for n in ast.walk(tree) if _is_call(n)), None)
    if call is None:
        raise NotStandalone("no call")
    body = _Body(made.kernels, generated.returns_one, is_mps).cleaned(call)
    names = _bound(body, made.kernels)
    forward = _forward(generated, reference.signature, names, body)
    checks = checks_text(generated.device.partition(":")[0])
    guard = f"{checks}\n\n\n{_expected(generated, reference.signature)}"
    model = f"class ModelNew({reference.bases}):\n{reference.body}\n\n{forward}"
    view = VIEW if "_view(" in forward else ""
    title = '"""Kernels that torch.compile generated, on their own."""'
    imports = (*reference.imports, *made.imports, *IMPORTS)
    return file_text(title, imports, [reference.definitions, made.text, view, guard, model])


def _source(node: ast.stmt) -> tuple[str, str] | None:
    """Return (name, text) of the kernel that a statement of the module defines, if any."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    if not ast.unparse(node.value.func).startswith("async_compile."):
        return None
    text = next(a.value for a in reversed(node.value.args) if isinstance(a, ast.Constant))
    return ast.unparse(node.targets[0]), str(text)


def _is_call(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "call"


class _Body(ast.NodeTransformer):
    """Rewrites the statements of the generated call so that they do not need Inductor."""

    def __init__(
        self, kernels: dict[str, GeneratedKernel], returns_one: bool, is_mps: bool
    ) -> None:
        self._kernels, self._returns_one, self._is_mps = kernels, returns_one, is_mps

    def cleaned(self, call: ast.FunctionDef) -> ast.Module:
        body = ast.Module([self.visit(node) for node in call.body], [])
        flat: list[ast.stmt] = []
        for node in body.body:
            flat += node if isinstance(node, list) else [node] if node is not None else []
        return ast.fix_missing_locations(ast.Module(flat, []))

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        inner = [self.visit(each) for each in node.body]  # the device is that of the inputs
        return [each for each in inner if each is not None]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        if isinstance(node.value, ast.Call) and _called(node.value) in DROPPED:
            return None
        self.generic_visit(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        if isinstance(node.value, ast.Call) and _called(node.value) in DROPPED:
            return None
        self.generic_visit(node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        self.generic_visit(node)
        if self._returns_one and isinstance(node.value, ast.Tuple):
            return ast.Return(node.value.elts[0])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name, whose = _called(node), ast.unparse(node.func).partition(".")[0]
        self.generic_visit(node)
        if whose in self._kernels:
            return self._kernels[whose].launched(node)
        if whose == "extern_kernels":
            if name not in LIBRARY:
                raise NotStandalone(f"extern_kernels.{name}")
            node.func = parse_expression(f"torch.{name}")
            if self._is_mps and name == "convolution":  # contiguous there, whatever its inputs are
                return ast.Call(ast.Attribute(node, "contiguous", ast.Load()), [], [])
        elif name == "empty_strided":
            node.func = parse_expression("torch.empty_strided")
        elif name == "reinterpret_tensor":
            node.func = ast.Name("_view", ast.Load())
        elif name in ("empty_strided_cpu", "empty_strided_cuda"):
            device = name.rpartition("_")[2]
            text = f"torch.empty_strided(_, _, dtype=_, device={device!r})"
            made = parse_expression(text)
            assert isinstance(made, ast.Call)
            made.args, made.keywords[0].value = node.args[:2], node.args[2]
            return made
        return node


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _bound(body: ast.Module, kernels: dict[str, GeneratedKernel]) -> list[str]:
    """Return the names of the call's arguments, which its first statement unpacks.

    Raises:
        NotStandalone: the call uses a name that is not defined.
    """
    first = body.body.pop(0)
    names = [n.id for n in ast.walk(first) if isinstance(n, ast.Name) and n.id != "args"]
    stored = {
        n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known = {*names, *stored, *kernels, *dir(builtins), "torch", "triton", "_view", METAL}
    used = {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}
    if used - known:
        raise NotStandalone(", ".join(sorted(used - known)))
    return names


def _expected(generated: Generated, signature: str) -> str:
    forms = [(a, form_text(a.shape, a.strides, a.dtype)) for a in generated.arguments]
    given = [(_value(a, _passed(signature)), form) for a, form in forms if a.is_input]
    weights = [(a.path, form) for a, form in forms if not a.is_input]
    tables = [inputs_table("EXPECTED", given), known_table("KNOWN")]
    return "\n\n".join([*tables, modules_table("MODULES", generated.modules, weights)])


def _passed(signature: str) -> list[str]:
    """The names of forward's parameters.

    Raises:
        NotStandalone: some are of a kind that cannot be passed on.
    """
    parameters = parse(f"def f({signature}): ...").body[0].args  # type: ignore[attr-defined]
    if parameters.vararg is not None or parameters.kwonlyargs or parameters.kwarg is not None:
        raise NotStandalone("a forward with variable arguments")
    return [p.arg for p in (*parameters.posonlyargs, *parameters.args)][1:]


def _value(argument: Argument, passed: list[str]) -> str:
    """The expression for an argument of the generated call, in forward."""
    return passed[int(argument.expression[7:-1])] if argument.is_input else argument.expression


def _forward(generated: Generated, signature: str, names: list[str], body: ast.Module) -> str:
    """The methods: the reference's own where the call is one that the kernels are not made for."""
    passed = _passed(signature)
    values = [_value(argument, passed) for argument in generated.arguments]
    tensors = [value for a, value in zip(generated.arguments, values, strict=True) if a.is_input]
    face = Face(
        title="",
        device_kind=generated.device.partition(":")[0],
        conditions=("self.training" if generated.is_training else "not self.training",),
        passed=", ".join(passed),
        unpacked="",
        paths={},
        described=generated.modules,
    )
    ways = MPS_WAYS if generated.device == "mps" else WAYS
    guard = guard_text(face, signature, tensors, ways)
    lines = [
        *dispatch_lines(face),
        *(f"{name} = {value}" for name, value in zip(names, values, strict=True)),
        *ast.unparse(body).splitlines(),
    ]
    forward = f"    def forward({signature}):\n" + textwrap.indent("\n".join(lines), " " * 8)
    return f"{guard}\n\n{forward}"
