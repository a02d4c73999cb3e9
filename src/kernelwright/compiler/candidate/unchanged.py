"""Whether a module still is what its kernels were made for.

A kernel stands for the forward of a whole module: it does what the parts would have done, with the
constants that were seen at capture, and reads the weights' memory. Every call therefore looks
whether parts, hooks, attributes and weights are still those. The first look walks through the
module and compares all of it; later ones only ask whether anything was written since. Emitted files
carry the text below the imports.

Not covered: an attribute replaced by an equal number of another type (2 by 2.0), an array changed
in place, a change of a class instead of a module, and of a weight's numbers by what torch does not
count (``parameter.data.copy_(...)``).
"""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from operator import is_

import torch
from torch import nn
from torch._C._dynamo.guards import TensorGuards, dict_version


class Kept:
    """What a module keeps from call to call. A copy of the module begins with nothing."""

    def __init__(self):
        self.looks = {}  # what kernels were made for → the last look at whether the module is that
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

    All are literals, as ``Home`` has them for the file ``home``. ``mode``: whether the training
    flags count. The class and the hooks of ``module`` itself do not.
    """
    found = {}
    home = Home(home, module)
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


class Home:
    """The names of what a module holds.

    Classes and functions of the file go by their bare names, and those that the module's class
    defines by what follows its name, since kernels are in a class of another name. A part of the
    module is its path: a function that holds it still does so in a copy of the module, which has
    other parts.
    """

    def __init__(self, file, module):
        self.file = file
        self.outer = [kind.__qualname__ + "." for kind in type(module).__mro__]
        self.paths = {id(part): path for path, part in module.named_modules()}


def name_of_kind(value, home):
    """The name of a class or a function."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    where = getattr(value, "__module__", None)
    if where not in (home.file, None):
        return f"{where}.{name}"
    return name.removeprefix(next(filter(name.startswith, home.outer), ""))


def literal_of(value, home, depth=0):
    """A literal that tells a value from others; the content of a tensor does not count.

    Numbers and strings are themselves; all else is a dict, or a list that begins with its kind.
    """
    inside = functools.partial(literal_of, home=home, depth=depth + 1)
    if value is None or type(value) in (bool, int, str, bytes):
        return value
    if isinstance(value, float):
        return float(value) if abs(value) < float("inf") else ["float", str(value)]  # inf, nan
    if isinstance(value, nn.Module) and id(value) in home.paths:
        return ["part", home.paths[id(value)]]
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


def weight_in(module, path, name):
    """A parameter or buffer, past nn.Module's own look-up, which takes several times as long; None
    where there is none."""
    part = module
    for step in path:
        part = part._modules.get(step)
        if part is None:
            return None
    weight = part._parameters.get(name)
    return getattr(part, name, None) if weight is None else weight


def is_mutable(value):
    """Whether a container can change while it stays the same object."""
    try:
        hash(value)
    except TypeError:
        return isinstance(value, (list, tuple, set, dict))
    return False


def form_guards(tensors):
    """What compares, in one call, class, sizes, strides, dtype and device of tensors, whether they
    want gradients, and the keys by which torch dispatches them in its present modes."""
    return TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)


class Work:
    """What kernels make of weights; it lasts as long as these are the same tensors."""

    made = numbers = replays = None

    def __init__(self, weights):
        self.weights = weights


class Look:
    """What a module had in a call. It stands for all later calls in which the module has the same.

    ``reason``: why kernels do not serve the module; ``weights``: the tensors that kernels were made
    for, in the order of the table; ``wanting``: path and name of one that wants gradients;
    ``work``: what kernels have made of the weights, in the calls of the look ``before`` as well.
    """

    def __init__(self, described, module, before):
        difference, path = described.first_difference(module)
        self.parts = parts_along(module, path) if difference else [*module.modules()]
        self.kinds = [*map(type, self.parts)]
        self.note_tables(module)
        self.weights = () if difference else described.weights_in(module)
        self.reason = difference or described.why_unfit_weights(self.weights)
        self.wanting = described.wanting(self.weights)
        self.work = before and before.work
        is_same = self.work and all(map(is_, self.work.weights, self.weights))
        if not difference and not is_same:
            self.work = Work(self.weights)
        self.tensors = [*{id(w): w for w in self.weights if isinstance(w, torch.Tensor)}.values()]
        self.forms = form_guards(self.tensors)
        held = {id(value) for table in self.tables for value in table.values()}
        self.is_lasting = all(id(tensor) in held for tensor in self.tensors)

    def note_tables(self, module):
        """Note the dicts that the module consists of, which count how often they are written to,
        and copies of them; and the containers among attributes, which do not count."""
        self.absent, self.tables, self.copies, self.containers = [], [], [], []
        for part in self.parts:
            held = vars(part)
            own = own_names(part, module)
            self.containers += [held[name] for name in own if is_mutable(held[name])]
            self.tables.append(held)
            self.copies.append(
                {name: copy_of(held[name]) if name in own else held[name] for name in held}
            )
            inside = [part._modules, part._parameters, part._buffers]
            inside += [held[name] for name in HOOKS if part is not module]
            inside += [getattr(held[name], "__dict__", None) for name in own]
            for table in filter(lambda table: isinstance(table, dict), [*inside, *GLOBAL_HOOKS]):
                (self.tables if table else self.absent).append(table)
                self.copies += [dict(table)] if table else []
        self.versions = [*map(dict_version, self.tables)]
        self.contents = copy_of(self.containers)

    def holds(self, described, module):
        """Whether the module has the same now."""
        try:
            return (
                self.is_lasting
                and not any(self.absent)
                and [*map(type, self.parts)] == self.kinds
                and self.containers == self.contents
                and self.are_unwritten(described, module)
                and self.forms.check(*self.tensors)
            )
        except Exception:  # tensors were replaced, which are compared number by number
            return False

    def are_unwritten(self, described, module):
        """Whether nothing was written to the dicts, or only what they had."""
        versions = [*map(dict_version, self.tables)]
        if versions != self.versions:
            found = described.weights_in(module) if self.weights else ()
            if not all(map(is_, self.weights, found)) or self.tables != self.copies:
                return False
            self.versions = versions
        return True


NO_GRADIENTS = "gradients are wanted, and the kernels give none; call it under torch.no_grad()"


class Described:
    """A module as it was captured: ``parts`` is what ``description_of`` gave for the file ``home``;
    without a home, that is the file of the module's own class.

    ``weights``: place, name and form of each weight that kernels read; ``fits``: whether a tensor
    has a form; ``gradients``: the paths of the weights whose gradients kernels give.
    """

    def __init__(self, parts, home, weights, fits, gradients=()):
        self.parts, self.home, self.weights = parts, home, weights
        self.fits, self.gradients = fits, gradients

    def look(self, module):
        """What the module has now: the last look, if that still holds."""
        looks = (module.__dict__.get("_kept") or kept_by(module)).looks
        look = looks.get(self)
        if look is None or not look.holds(self, module):
            look = looks[self] = Look(self, module, look)
        return look

    def work_for(self, module):
        """What kernels have made of the weights that this call's look found."""
        return module.__dict__["_kept"].looks[self].work

    def weights_of(self, module):
        """The tensors of the table in its order, as this call's look found them."""
        if is_dynamo_compiling():
            return self.weights_in(module)
        return module.__dict__["_kept"].looks[self].weights

    def why_unfit(self, module):
        """Why kernels do not serve the module, in words; empty where they do."""
        if is_dynamo_compiling():
            return self.why_unfit_at_trace(module)
        look = self.look(module)
        return look.reason or (NO_GRADIENTS if look.wanting and torch.is_grad_enabled() else "")

    def why_still_unfit(self, module):
        """Why kernels did not serve the module, if that still is so: known faster than that they
        do."""
        kept = module.__dict__.get("_kept")
        look = kept and kept.looks.get(self)
        if not look:
            return ""
        if look.reason:
            return self.why_unfit(module)
        wants = look.wanting and torch.is_grad_enabled() and weight_in(module, *look.wanting)
        return NO_GRADIENTS if getattr(wants, "requires_grad", False) else ""

    def weights_in(self, module):
        """The weights in the order of the table; None for one that is gone."""
        return tuple([weight_in(module, path, name) for path, name, *_ in self.weights])

    def why_unfit_weights(self, weights):
        """Why the weights have another form than the kernels were made for."""
        for weight, (path, name, *form) in zip(weights, self.weights, strict=False):
            if weight is None:
                return f"{'.'.join((*path, name))} is gone"
            if not self.fits(weight, *form) or not (is_dynamo_compiling() or not weight.is_neg()):
                return f"{'.'.join((*path, name))} has another form"
        return ""

    def wanting(self, weights):
        """Path and name of a weight that wants gradients which kernels do not give."""
        for weight, (path, name, *_) in zip(weights, self.weights, strict=False):
            wants = getattr(weight, "requires_grad", False)
            if wants and ".".join((*path, name)) not in self.gradients:
                return path, name
        return None

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

    def why_unfit_at_trace(self, module):
        """Why kernels do not serve the module, for torch.compile, which looks again by itself."""
        weights = self.weights_in(module)
        if torch.is_grad_enabled() and self.wanting(weights):
            return NO_GRADIENTS
        return (
            self.why_unfit_weights(weights)
            or self.why_changed_at_trace(module)
            or self.difference_at_trace(module)
        )

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


class Numbers:
    """Where tensors have their numbers, and how often torch counted a change of them."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.state = self.now()
        self.freed = []  # other numbers may come to lie at the address of what was freed
        storages = [tensor.untyped_storage() for tensor in tensors]
        self.storages = [weakref.ref(storage, self.freed.append) for storage in storages]

    def now(self):
        places = [*map(torch.Tensor.data_ptr, self.tensors)]
        return places, [tensor._version for tensor in self.tensors]

    def are_same(self):
        try:
            return not self.freed and self.now() == self.state
        except RuntimeError:  # one is an inference tensor now, whose changes torch does not count
            return False


def made_of(work, sources, make, kernels):
    """The result of ``make(kernels)``, which follows from ``sources``: made once, and again when
    their numbers change."""
    if work.numbers is None or not work.numbers.are_same():
        if any(source.is_inference() for source in sources):
            return make(kernels)  # torch does not count their changes
        numbers = Numbers(sources)
        work.made, work.numbers = make(kernels), numbers
    return work.made
