"""Mutation operators: how a right candidate is made wrong.

Two families. Source operators rewrite one place of the candidate's own ``forward`` or of the C++
text in it; wrapper operators leave the source and put a layer around it. Every operator yields
(name, source) pairs in a fixed order; which of them become faults is drawn with a seed by the
caller, and whether they are faults at all is decided by float64 (``faults_oracle``).
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

PRECISION = "precision"
"""Operators of this kind lower the precision and change nothing else."""


@dataclass(frozen=True)
class Mutant:
    """A changed source, and which operator made it."""

    task: str
    operator: str
    kind: str
    """'precision', 'arithmetic', 'structure', 'numerics' or 'weights'."""
    source: str


def mutants(task: str, source: str) -> list[Mutant]:
    """Every mutant of a right candidate, each source once."""
    found: dict[str, Mutant] = {}
    for make in (_source_mutants, _cpp_mutants, _wrapped):
        for operator, kind, text in make(source):
            if text != source:
                found.setdefault(text, Mutant(task, operator, kind, text))
    return list(found.values())


# Source operators -----------------------------------------------------------------------------

OTHER_FUNCTION = {
    "amax": "amin", "sum": "mean", "mean": "sum", "logsumexp": "amax", "exp": "expm1",
    "rsqrt": "sqrt", "sigmoid": "tanh", "tanh": "sigmoid", "erfc": "erf", "cumsum": "cumprod",
    "log_softmax": "softmax", "max_pool2d": "avg_pool2d", "gelu": "silu", "var_mean": "std_mean",
}  # fmt: skip
"""Functions that take the same arguments and are easily taken for each other."""
SKIPPABLE = {"relu", "relu_", "clamp", "exp", "log", "sigmoid", "tanh", "square", "contiguous",
             "clamp_min", "gelu", "cumsum"}  # fmt: skip
DROPPABLE = {"correction", "is_causal", "alpha", "beta", "padding"}
SHAPED = {"view", "reshape", "unflatten", "flatten", "chunk", "unbind", "transpose", "permute"}
"""Calls whose numbers are shapes: to change one makes an error, not a fault."""


def _source_mutants(source: str) -> Iterator[tuple[str, str, str]]:
    tree = ast.parse(source)
    n_nodes = sum(1 for _ in ast.walk(tree))
    inside = _forward_nodes(tree)
    for index in range(n_nodes):
        if index not in inside:
            continue
        for operator, kind, change in CHANGES:
            changed = copy.deepcopy(tree)
            for new in _replaced(changed, index, change):
                yield operator, kind, ast.unparse(ast.fix_missing_locations(new)) + "\n"
        for name in ("float16", "bfloat16", "tf32"):
            rounded = copy.deepcopy(tree)
            if _round_at(rounded, index, name):
                text = ast.unparse(ast.fix_missing_locations(rounded)) + "\n\n" + ROUND
                yield f"{name} intermediate", PRECISION, text


def _forward_nodes(tree: ast.Module) -> set[int]:
    """The positions, in the order of ``ast.walk``, of what lies inside ModelNew.forward."""
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew")
    forward = next(n for n in model.body if getattr(n, "name", "") == "forward")
    wanted = {id(n) for statement in forward.body for n in ast.walk(statement)}
    return {i for i, n in enumerate(ast.walk(tree)) if id(n) in wanted}


def _replaced(tree: ast.Module, index: int, change) -> Iterator[ast.Module]:
    """The tree with node ``index`` replaced by each alternative that ``change`` offers."""
    parents = {id(c): p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
    target = list(ast.walk(tree))[index]
    for new in change(target, parents.get(id(target))):
        _swap(parents[id(target)], target, new)
        yield copy.deepcopy(tree)
        _swap(parents[id(target)], new, target)


def _swap(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            setattr(parent, name, [new if item is old else item for item in value])


def _drop_term(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield node.left
        if isinstance(node.op, ast.Add):
            yield node.right


def _drop_factor(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        yield node.left
        if isinstance(node.op, ast.Mult):
            yield node.right


def _flip_sign(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    other = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
    if isinstance(node, ast.BinOp) and type(node.op) in other:
        yield ast.BinOp(node.left, other[type(node.op)](), node.right)


def _number(node: ast.AST, parent: ast.AST | None) -> Iterator[ast.expr]:
    name = getattr(getattr(parent, "func", None), "attr", "")
    if not isinstance(node, ast.Constant) or name in SHAPED or isinstance(parent, ast.keyword):
        return
    if isinstance(node.value, float):
        yield ast.Constant(node.value * 1.001)
        yield ast.Constant(node.value * 1.1)
    elif type(node.value) is int:
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def _axis(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.keyword]:
    if isinstance(node, ast.keyword) and node.arg == "dim":
        yield ast.keyword("dim", ast.Constant(0))


def _drop_argument(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in DROPPABLE:
                kept = [k for k in node.keywords if k is not keyword]
                yield ast.Call(node.func, node.args, kept)


def _skip_call(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in SKIPPABLE:
        owner = node.func.value  # type: ignore[attr-defined]
        is_module = isinstance(owner, ast.Name) and owner.id in ("torch", "F")
        yield node.args[0] if is_module else owner


def _other_function(node: ast.AST, _parent: ast.AST | None) -> Iterator[ast.expr]:
    if isinstance(node, ast.Attribute) and node.attr in OTHER_FUNCTION:
        yield ast.Attribute(node.value, OTHER_FUNCTION[node.attr], node.ctx)


CHANGES = (
    ("dropped term", "arithmetic", _drop_term),
    ("dropped factor", "arithmetic", _drop_factor),
    ("flipped operator", "arithmetic", _flip_sign),
    ("changed number", "arithmetic", _number),
    ("wrong axis", "structure", _axis),
    ("dropped argument", "structure", _drop_argument),
    ("skipped call", "arithmetic", _skip_call),
    ("other function", "arithmetic", _other_function),
)

ROUND = '''
import torch


def _round(value, name):
    """Cut a float32 tensor to the mantissa of a shorter format; its range too, but for tf32."""
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    if name != "tf32":
        return value.to(getattr(torch, name)).float()
    bits = value.contiguous().view(torch.int32)
    return ((bits + 0x1000) & -0x2000).view(torch.float32)
'''


def _round_at(tree: ast.Module, index: int, name: str) -> bool:
    """Round the value of the expression at ``index``; whether there is one."""
    target = list(ast.walk(tree))[index]
    parents = {id(c): p for p in ast.walk(tree) for c in ast.iter_child_nodes(p)}
    if not isinstance(target, (ast.BinOp, ast.Call)):
        return False
    rounded = ast.Call(ast.Name("_round", ast.Load()), [target, ast.Constant(name)], [])
    _swap(parents[id(target)], target, rounded)
    return True


# C++ operators: pattern, replacement, one mutant per match ------------------------------------

CPP = (
    ("last one left out", "structure", r"(for \([^;]*; \w+ < )(\w+)(;)", r"\1\2 - 1\3"),
    ("first one left out", "structure", r"(for \(\w+ \w+ = )0(;)", r"\g<1>1\2"),
    ("replaced, not added", "arithmetic", r"\+=", "="),
    ("subtracted, not added", "arithmetic", r"\+=", "-="),
    ("float16 in C++", PRECISION, r"\bfloat (\w+) = ", r"_Float16 \1 = "),
    ("dropped factor", "arithmetic", r" \* \w+(\[[^\]]*\])?;", ";"),
    ("minimum for maximum", "arithmetic", r"\bmax\b", "min"),
    ("flipped operator", "arithmetic", r"(\w\]?\)?) \+ (\w)", r"\1 - \2"),
    ("changed number", "arithmetic", r"\b(\d+\.\d*f?)\b", r"(1.01f * \1)"),
    ("off by one", "structure", r"- 1\b", ""),
)


def _cpp_mutants(source: str) -> Iterator[tuple[str, str, str]]:
    for block in re.finditer(r'r"""(.*?)"""', source, re.S):
        for operator, kind, pattern, replacement in CPP:
            for match in re.finditer(pattern, block[1]):
                if "#" in block[1][: match.start()].rpartition("\n")[2]:
                    continue
                start, end = block.start(1) + match.start(), block.start(1) + match.end()
                yield operator, kind, source[:start] + match.expand(replacement) + source[end:]


# Wrapper operators ----------------------------------------------------------------------------

WRAPPER = '''

_Right = ModelNew


class ModelNew(_Right):
    """The right candidate with a fault around it."""

    def forward(self, *arguments):
{body}
'''
PLAIN = "        return _change(super().forward(*arguments))"
ON_INPUTS = """        floats = [a.is_floating_point() if isinstance(a, torch.Tensor) else False
                  for a in arguments]
        return super().forward(*[_change(a) if f else a for a, f in zip(arguments, floats)])"""
ON_WEIGHTS = """        kept = {name: p.data for name, p in self.named_parameters()}
        for name, p in self.named_parameters():
            p.data = _change(p.data, name)
        try:
            return super().forward(*arguments)
        finally:
            for name, p in self.named_parameters():
                p.data = kept[name]"""
CUT16 = "(y.contiguous().view(torch.int32) & -0x100).view(torch.float32)"  # 15 bits of mantissa
WRAPPERS: tuple[tuple[str, str, str, str], ...] = (
    ("float16 output", PRECISION, PLAIN, "return y.half().float()"),
    ("bfloat16 output", PRECISION, PLAIN, "return y.bfloat16().float()"),
    ("tf32 output", PRECISION, PLAIN, 'return _round(y, "tf32")'),
    ("16-bit mantissa output", PRECISION, PLAIN, f"return {CUT16}"),
    ("float16 inputs", PRECISION, ON_INPUTS, "return y.half().float()"),
    ("bfloat16 inputs", PRECISION, ON_INPUTS, "return y.bfloat16().float()"),
    ("tf32 inputs", PRECISION, ON_INPUTS, 'return _round(y, "tf32")'),
    ("float16 weights", PRECISION, ON_WEIGHTS, "return y.half().float()"),
    ("bfloat16 weights", PRECISION, ON_WEIGHTS, "return y.bfloat16().float()"),
    ("tf32 weights", PRECISION, ON_WEIGHTS, 'return _round(y, "tf32")'),
    ("8-bit weights", PRECISION, ON_WEIGHTS,
     "s = y.abs().amax() / 127 + 1e-30\n    return (y / s).round() * s"),
    ("last tile of zeros", "structure", PLAIN,
     "y[..., -(y.shape[-1] % 16 or 16) :] = 0\n    return y"),
    ("last element unwritten", "structure", PLAIN,
     "y = y.contiguous()\n    y.view(-1)[-1:] = 0\n    return y"),
    ("stale last row", "structure", PLAIN, "y[-1:] = y[:1]\n    return y"),
    ("swapped rows", "structure", PLAIN,
     "return y.index_select(0, torch.tensor([1, 0, *range(2, len(y))]))"),
    ("shifted by one", "structure", PLAIN, "return y.roll(1, -1)"),
    ("saturated range", "numerics", PLAIN, "return y.clamp(-8.0, 8.0)"),
    ("flushed small values", "numerics", PLAIN, "return y.where(y.abs() > 1e-4, 0.0)"),
    ("clamped inputs", "numerics", ON_INPUTS, "return y.clamp(-3.0, 3.0)"),
    ("inputs taken as positive", "numerics", ON_INPUTS, "return y.abs()"),
    ("scaled by 1 + 2^-12", "numerics", PLAIN, "return y * (1 + 2.0**-12)"),
    ("scaled by 1 + 2^-15", "numerics", PLAIN, "return y * (1 + 2.0**-15)"),
    ("shifted by 1e-5", "numerics", PLAIN, "return y + 1e-5"),
    ("NaN to zero", "numerics", PLAIN, "return y.nan_to_num(0.0, 3e38, -3e38)"),
    ("bias skipped", "weights", ON_WEIGHTS, 'return y * 0 if "bias" in name else y'),
    ("scale skipped", "weights", ON_WEIGHTS,
     'return torch.ones_like(y) if y.dim() == 1 and "bias" not in name else y'),
    ("first weight only", "weights", ON_WEIGHTS, "return y[:1].expand_as(y).contiguous()"),
    ("transposed weight", "weights", ON_WEIGHTS,
     "return y.t().contiguous() if y.dim() == 2 and len(y) == y.shape[1] else y"),
)  # fmt: skip
WRONG_EPS = """        owner, kept = self{0}, self{0}.eps
        owner.eps = kept * {1}
        try:
            return super().forward(*arguments)
        finally:
            owner.eps = kept"""


def _wrapped(source: str) -> Iterator[tuple[str, str, str]]:
    for operator, kind, body, change in WRAPPERS:
        arguments = "y, name" if body is ON_WEIGHTS else "y"
        function = f"\n\ndef _change({arguments}):\n    {change}\n"
        yield operator, kind, source + ROUND + function + WRAPPER.format(body=body)
    for owner in sorted(set(re.findall(r"\bself((?:\.\w+)?)\.eps", source))):
        for factor in (0.1, 10.0):
            body = WRONG_EPS.format(owner, factor)
            yield "wrong eps", "numerics", source + WRAPPER.format(body=body)
