"""Whether a module still is what its kernels were made for.

A kernel stands for the forward of a whole module: it does what the parts would have done, with the
constants that were seen at capture. Every call therefore looks whether parts, hooks and attributes
are still those. Emitted files carry the text below the imports.

Not covered: an attribute replaced by an equal number of another type (2 by 2.0), an array changed
in place, and a change of a class instead of a module.
"""

from __future__ import annotations

import functools
import types
import warnings
from operator import eq

import torch
from torch import nn


class Kept:
    """What a module keeps from call to call. A copy of the module begins with nothing."""

    seen = prepared = prepared_from = replay = None

    def __init__(self):
        self.misses = {}  # why calls were served by the module's own forward → how many

    def __reduce__(self):
        return Kept, ()


TRACES_MODULES = torch.torch_version.TorchVersion(torch.__version__) >= (2, 13)
"""Whether torch.compile can hand a module to a function whose result is a constant of its trace."""
COMPILING = {"_compiled_call_impl", "_is_torch_compile"}
NOTES = {"_kept", "on_miss", "_is_hf_initialized"}  # the last by transformers, of every part
PLUMBING = {*vars(nn.Module()), *COMPILING, *NOTES}  # these say nothing of a forward
BY_CALLERS = {
    "forward",
    "_reference_forward",
    "why_not",
}  # of the whole module: its callers meet them
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
GLOBAL_HOOKS = [vars(nn.modules.module)["_global" + name] for name in HOOKS]


def kept_by(module):
    """The ``Kept`` of a module."""
    return vars(module).get("_kept") or vars(module).setdefault("_kept", Kept())


is_dynamo_compiling = torch.compiler.is_dynamo_compiling
"""Looked up once: every call asks."""
MISS = "the kernels do not serve this call, the module's own forward does"


def missed(module, reason):
    """Count a call that the module's own forward serves, and do as ``module.on_miss`` says: "warn"
    once for each reason, "raise", or be "silent". A module that does not say gets a warning."""
    on_miss = getattr(module, "on_miss", "warn")
    if is_dynamo_compiling():
        return missed_at_trace(reason, on_miss)
    counts = (module.__dict__.get("_kept") or kept_by(module)).misses
    if reason not in counts or on_miss == "raise":
        tell_of_miss(reason, on_miss)
        counts[reason] = 0
    counts[reason] += 1
    return None


def tell_of_miss(reason, on_miss):
    """Warn or raise."""
    text = f"{MISS}: {reason}"
    if on_miss == "raise":
        raise RuntimeError(text)
    if on_miss == "warn":
        warnings.warn(text, stacklevel=6)


def missed_at_trace(reason, on_miss):
    """The same for torch.compile, which runs this once, as it traces."""
    tell_of_miss(reason, on_miss)


missed_at_trace._dynamo_marked_constant = True  # as torch.compiler.assume_constant_result does


def misses_of(module):
    """How many calls of the module and its parts were not served by kernels, by reason."""
    total = {}
    for part in module.modules():
        for reason, n_calls in getattr(vars(part).get("_kept"), "misses", {}).items():
            total[reason] = total.get(reason, 0) + n_calls
    return total


def own_names(part, module):
    """The names of the attributes that count for a part of ``module``."""
    others = PLUMBING | BY_CALLERS if part is module else PLUMBING
    return [name for name in vars(part) if name not in others]


def description_of(module, home, mode=False):
    """By path: the class of every part, and its own attributes, hooks and parameters' names.

    All are literals; classes and functions of the file ``home`` go by their bare names. ``mode``:
    whether the training flags count. The class and the hooks of ``module`` itself do not.
    """
    found = {}
    for path, part in module.named_modules(remove_duplicate=False):
        held = vars(part)
        own = {name: literal_of(held[name], home) for name in own_names(part, module)}
        weights = [name for name, weight in part._parameters.items() if weight is not None]
        own |= {"parameters": sorted(weights)} if weights else {}
        if path:
            own |= {name: literal_of([*held[name].values()], home) for name in HOOKS if held[name]}
        if mode:
            own["training"] = part.training
        found[path] = (name_of_kind(type(part), home) if path else "", own)
    return found


def name_of_kind(value, home):
    """The name of a class or a function."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    where = getattr(value, "__module__", None)
    return name if where in (home, None) else f"{where}.{name}"


def literal_of(value, home, depth=0):
    """A literal that tells a value from others; the content of a tensor does not count.

    Numbers and strings are themselves; all else is a dict, or a list that begins with its kind.
    """
    inside = functools.partial(literal_of, home=home, depth=depth + 1)
    if value is None or type(value) in (bool, int, str, bytes):
        return value
    if isinstance(value, float):
        return float(value) if abs(value) < float("inf") else ["float", str(value)]  # inf, nan
    if isinstance(value, torch.Tensor) or depth > 4:
        return [type(value).__name__]
    if type(value).__module__ == "torch":  # a dtype, a device
        return ["torch", str(value)]
    if isinstance(value, dict):
        return {str(key): inside(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(inside, value)]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, *sorted(map(inside, value), key=repr)]
    if isinstance(value, functools.partial):
        return ["partial", *map(inside, (value.func, value.args, value.keywords))]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
        held = [*cells, *(value.__defaults__ or ())]
        return (
            [name_of_kind(value, home), *map(inside, held)] if held else name_of_kind(value, home)
        )
    if isinstance(value, (type, types.BuiltinFunctionType)):
        return name_of_kind(value, home)
    held = getattr(value, "__dict__", {})
    own = {name: held[name] for name in held if name not in PLUMBING}
    return (
        [name_of_kind(type(value), home), inside(own)] if own else name_of_kind(type(value), home)
    )


def difference_between(expected, found):
    """Return the difference of two descriptions, in words, and the path of the part; empty where
    there is none."""
    for path in [*expected, *(path for path in found if path not in expected)]:
        whose = path or "the module"
        if path not in found or path not in expected:
            return f"{whose} is {'new' if path in found else 'gone'}", path
        (before, own), (now, has) = expected[path], found[path]
        if before != now:
            return f"{whose} is a {now}, and was a {before}", path
        for name in {**own, **has}:
            was, seen = (repr(held[name]) if name in held else "absent" for held in (own, has))
            if was != seen:
                return f"{name} of {whose} is {seen:.80}, and was {was:.80}", path
    return "", ""


def parts_along(module, path):
    """The module, and the parts on the way to a path as far as there are any."""
    parts = [module]
    for step in path.split(".") if path else ():
        part = parts[-1]._modules.get(step)
        if part is None:
            break
        parts.append(part)
    return parts


def copy_of(value):
    """The value; of a container a copy, which shows what is done to the container."""
    if type(value) in (list, tuple, set):
        return type(value)(map(copy_of, value))
    return {key: copy_of(part) for key, part in value.items()} if type(value) is dict else value


class Described:
    """A module as it was captured: ``parts`` is what ``description_of`` gave for the file ``home``;
    without a home, that is the file of the module's own class."""

    def __init__(self, parts, home):
        self.parts, self.home = parts, home

    def why_changed(self, module):
        """What of a module is not as described, in words; empty where all is.

        Most calls compare the module's dicts with copies of them, which takes some 0.3 µs a part.
        Only where one differs the module is described anew.
        """
        if is_dynamo_compiling():
            return self.why_changed_at_trace(module) or self.difference_at_trace(module)
        kept = kept_by(module)
        if kept.seen is not None:
            reason, absent, tables, copies, parts, kinds = kept.seen
            try:
                if (
                    not any(absent)
                    and all(map(eq, tables, copies))
                    and list(map(type, parts)) == kinds
                ):
                    return reason
            except Exception:  # tensors were replaced, which are compared number by number
                pass
        kept.seen = self.look(module)
        return kept.seen[0]

    def why_still_changed(self, module):
        """Why the module was found changed, if it still is: known faster than that it is not."""
        kept = module.__dict__.get("_kept")
        seen = kept and kept.seen
        return self.why_changed(module) if seen and seen[0] else ""

    def look(self, module):
        """The difference, and what the module has now for the next call to compare: all of it, or
        where it differs only what the difference hangs on."""
        reason, path = self.first_difference(module)
        parts = parts_along(module, path) if reason else list(module.modules())
        absent, tables, copies = [], [], []
        for part in parts:
            held = vars(part)
            own = own_names(part, module)
            tables.append(held)
            copies.append({key: copy_of(held[key]) if key in own else held[key] for key in held})
            inside = [part._modules, part._parameters, part._buffers]
            inside += [held[name] for name in HOOKS if part is not module]
            inside += [getattr(held[name], "__dict__", None) for name in own]
            for table in filter(lambda table: isinstance(table, dict), [*inside, *GLOBAL_HOOKS]):
                (tables if table else absent).append(table)
                copies += [dict(table)] if table else []
        return reason, absent, tables, copies, parts, list(map(type, parts))

    def first_difference(self, module):
        """Return the difference, in words, and the path of the part."""
        if any(GLOBAL_HOOKS):
            return "all modules have hooks", ""
        home = self.home or type(module).__module__
        found = description_of(module, home, "training" in self.parts[""][1])
        return difference_between(self.parts, found)

    def difference(self, module):
        """Return the difference, in words."""
        return self.first_difference(module)[0]

    difference._dynamo_marked_constant = True  # as torch.compiler.assume_constant_result does

    def difference_at_trace(self, module):
        """The difference as a constant of a trace: by the module's method, or if its class has none
        by the function of a module, which torch refuses before 2.13."""
        if hasattr(module, "_difference"):
            return module._difference()
        if TRACES_MODULES:
            return self.difference(module)
        return "torch.compile of torch before 2.13 cannot look at a module of this class"

    def why_changed_at_trace(self, module):
        """The parts of the module, and their numbers, that torch.compile's guard compares later.

        A text may be the name of a function, which the attribute is: that is compared once, as the
        call is traced.
        """
        for path, (_, own) in self.parts.items():
            part = module
            for step in path.split(".") if path else ():
                if step not in part._modules:
                    return f"{path} is gone"
                part = part._modules[step]
            for name, value in own.items():
                if not isinstance(value, (bool, int, float, str)):
                    continue
                now = getattr(part, name, None)
                if isinstance(now, (bool, int, float, str)) and now != value:
                    return f"{name} of {path or 'the module'} is another"
        return ""
