"""One module from several results: the best kernel for each shape, else the module's own code."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from kernelwright.compiler.candidate.unchanged import (
    Described,
    description_of,
    missed,
)
from kernelwright.core.errors import TaskError
from kernelwright.runtime.calls import PLAIN, Call, inputs_as, number_of

Form = tuple[Hashable, ...]
"""The form of an input. For a tensor: dtype, shape, and strides of the axes longer than 1. For a
list, tuple or dict: the type and the forms of the items. For any other value: type and value."""
Key = tuple[str, tuple[Form, ...], tuple[bool, ...]]
"""The kind of device, the form of every input, and the modes of the module's parts; no modes for a
kernel that serves all of them."""


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ByShape:
    """A forward for ``module`` that calls the kernel judged on inputs of the same form.

    A kernel was judged on a kind of device, on shapes, strides, dtypes and plain values, in one
    mode (train or eval) or for both, outside ``torch.autocast``, and for a module with these parts,
    hooks and attributes. Those in ``trained`` give gradients; the others serve no call where inputs
    or weights want some. Other sizes than those judged go to a kernel for which they are free.
    Anything else goes to the module's own, and so does a call that the kernel itself sends to its
    reference. Such a miss is counted, and told as the module's ``on_miss`` says; ``why_not`` gives
    the reason.

    The module keeps its type and the names of its state. The kernels are not its submodules, and
    they always use its current weights.

    Raises:
        TaskError: a kernel stores its weights in another form.
    """

    def __init__(
        self,
        module: nn.Module,
        kernels: Mapping[Key, nn.Module],
        trained: Mapping[Key, nn.Module] = MappingProxyType({}),
        call: Call = PLAIN,
    ) -> None:
        self.module, self.call = module, call
        self.own = module.forward
        self.__signature__ = inspect.signature(self.own)
        parameters = self.__signature__.parameters.values()
        self._defaults = [_form(p.default) for p in parameters if p.kind in _POSITIONAL]
        self.kernels, self.trained = (
            {
                (device, self._without_defaults(forms), modes): kernel
                for (device, forms, modes), kernel in table.items()
            }
            for table in (kernels, trained)
        )
        home = type(module).__module__
        weights = [name.split(".") for name, _ in module.named_parameters()]
        rows = tuple((tuple(path), name) for *path, name in weights)
        described = description_of(module, home)
        self._described = Described(described, home, rows, _fits_any_form)
        for kernel in self.all_kernels():
            _share_weights(module, kernel)
            own = self.own if call.is_plain else functools.partial(call.run, self.own)
            kernel._reference_forward = own  # type: ignore[assignment]

    def all_kernels(self) -> Iterator[nn.Module]:
        """Every kernel."""
        return itertools.chain(self.kernels.values(), self.trained.values())

    @property
    def __code__(self) -> types.CodeType:
        """That of the module's own forward: torch.export asks where a forward was written."""
        return self.own.__code__

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        given, cache = self._by_position(inputs, named)
        kernel = self._found(given)
        if isinstance(kernel, str):
            missed(self.module, kernel)
            return self.own(*inputs, **named)
        if any(kernel is one for one in self.trained.values()):
            result = kernel(*given)
        else:  # it refuses to guess that nothing here wants gradients
            with torch.no_grad():
                result = kernel(*given)
        if cache is None:
            return result
        result, (keys, values) = result
        cache.update(keys, values, number_of(self.module))
        return result

    def kernel_for(self, *inputs: Any, **named: Any) -> nn.Module | None:
        """The kernel that was judged on inputs like these; None where there is none."""
        kernel = self._found(self._by_position(inputs, named)[0])
        return None if isinstance(kernel, str) else kernel

    def why_not(self, *inputs: Any, **named: Any) -> str:
        """Why the module's own forward serves such a call; empty where a kernel does."""
        given, _ = self._by_position(inputs, named)
        kernel = self._found(given)
        if isinstance(kernel, str):
            return kernel
        gives = any(kernel is one for one in self.trained.values())
        with torch.set_grad_enabled(gives and torch.is_grad_enabled()):
            asked = getattr(kernel, "why_not", None)
            return asked(*given) if asked else ""

    def _by_position(
        self, inputs: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...] | str, Any]:
        """The inputs in the order in which kernels were judged, or why they cannot be; and the
        cache that the call fills, if it is given one."""
        if not named and self.call.is_plain:
            return inputs, None
        found = inputs_as(self.call, self.module, self.__signature__, inputs, named)
        return (found, None) if isinstance(found, str) else found

    def _found(self, inputs: tuple[Any, ...] | str) -> nn.Module | str:
        """The kernel for inputs in order, or why there is none."""
        if isinstance(inputs, str):
            return inputs
        tensors = list(_tensors(inputs))
        wants_gradient = torch.is_grad_enabled() and (
            any(tensor.requires_grad for tensor in tensors) or self._weights_want()
        )
        devices = {tensor.device.type for tensor in tensors}
        if wants_gradient and not self.trained:
            return "gradients are wanted, and kernels give none; call it under torch.no_grad()"
        if len(devices) != 1:
            return f"the inputs are on {len(devices)} kinds of device"
        device = devices.pop()
        if torch.is_autocast_enabled(device):
            return "autocast is on; turn it off, and give inputs of the dtypes that were judged"
        if not all(type(size) is int for tensor in tensors for size in tensor.shape):
            return "the sizes of an input are symbols"
        forms = self._without_defaults(forms_of(inputs))
        tables = [self.trained] if wants_gradient else [self.kernels, self.trained]
        kernel = self._exact(device, forms, tables)
        if kernel is None and not wants_gradient:
            kernel = self._general(device, forms, inputs)
        if kernel is None:
            return self._why_none(device, forms, tables)
        if not hasattr(kernel, "why_not") and not _is_plain(tensors):
            return "the call is traced, or its inputs are no plain tensors"
        return self._why_changed() or self._following(kernel)

    def _weights_want(self) -> bool:
        """Whether a parameter wants gradients."""
        if torch.compiler.is_dynamo_compiling():
            return any(weight.requires_grad for weight in self.module.parameters())
        return self._described.look(self.module).wanting is not None

    def _exact(
        self, device: str, forms: tuple[Form, ...], tables: Sequence[Mapping[Key, nn.Module]]
    ) -> nn.Module | None:
        """A kernel that was judged on such inputs: for all modes, else for the module's present
        one, which takes a walk through its parts."""
        modes: tuple[bool, ...] | None = None
        for table in tables:
            if (device, forms, ()) in table:
                return table[device, forms, ()]
            modes = modes_of(self.module) if table and modes is None else modes
            if modes is not None and (device, forms, modes) in table:
                return table[device, forms, modes]
        return None

    def _why_changed(self) -> str:
        """Describe the change of the module since this forward was made; empty without one."""
        if torch.compiler.is_dynamo_compiling():
            return self._described.why_changed_at_trace(self.module) or self._difference()
        reason: str = self._described.look(self.module).reason
        return reason

    def _difference(self) -> str:
        difference: str = self._described.difference(self.module)
        return difference

    _difference._dynamo_marked_constant = True  # type: ignore[attr-defined]  # for torch.compile

    def _general(
        self, device: str, forms: tuple[Form, ...], inputs: tuple[Any, ...]
    ) -> nn.Module | None:
        """A kernel that was judged on other sizes and takes these as well."""
        modes = ((), modes_of(self.module))
        for (kind, judged, mode), kernel in self.kernels.items():
            if kind == device and mode in modes and _differ_in_rows(forms, judged):
                asked = getattr(kernel, "why_not", None)
                with torch.no_grad():
                    if asked is not None and not asked(*inputs):
                        return kernel
        return None

    def _without_defaults(self, forms: tuple[Form, ...]) -> tuple[Form, ...]:
        """The forms without the last ones that are the parameters' defaults."""
        n = len(forms)
        while 0 < n <= len(self._defaults) and forms[n - 1] == self._defaults[n - 1]:
            n -= 1
        return forms[:n]

    def _why_none(
        self, device: str, forms: tuple[Form, ...], tables: Sequence[Mapping[Key, nn.Module]]
    ) -> str:
        if any(key[:2] == (device, forms) for table in tables for key in table):
            return (
                "the module is in another mode than the kernel was judged in; call .train() or "
                ".eval(), or search in this mode"
            )
        return "no kernel was judged on such inputs; search with them, and build both results"

    def _following(self, kernel: nn.Module) -> nn.Module | str:
        """The kernel, with the weights of parts that were put in place of others."""
        if torch.compiler.is_dynamo_compiling():  # which looks again where a weight is another
            return kernel if self._has_weights_of_module(kernel) else "a part was replaced"
        look = self._described.look(self.module)
        if not vars(look).get("is_shared"):
            for each in self.all_kernels():
                _share_tables(self.module, each)
            look.is_shared = True
        return kernel

    def _has_weights_of_module(self, kernel: nn.Module) -> bool:
        for path in self._described.parts:
            part, other = self.module, kernel
            for step in path.split(".") if path else ():
                below, other_below = part._modules[step], other._modules.get(step)
                if below is None or other_below is None:
                    break
                part, other = below, other_below
            else:
                for name, weight in other._parameters.items():
                    if part._parameters.get(name) is not weight:
                        return False
        return True


def serve(
    module: nn.Module,
    kernels: Mapping[Key, nn.Module],
    on_miss: str,
    trained: Mapping[Key, nn.Module] = MappingProxyType({}),
    call: Call = PLAIN,
) -> None:
    """Give a module a forward that calls the kernels with its weights.

    ``call`` is the kind of calls that the kernels serve.

    Raises:
        TaskError: as ``ByShape``.
    """
    forward = ByShape(module, kernels, trained, call)
    vars(module).update(forward=forward, why_not=forward.why_not, on_miss=on_miss)


def modes_of(module: nn.Module) -> tuple[bool, ...]:
    """Whether each part of the module is in training mode."""
    return tuple(part.training for part in module.modules())


def _is_plain(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether code that knows nothing of traces may read the memory of the tensors."""
    return (
        not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and not any(
            type(tensor) not in (torch.Tensor, nn.Parameter) or tensor.is_neg() or tensor.is_conj()
            for tensor in tensors
        )
    )


def _fits_any_form(weight: torch.Tensor) -> bool:
    """The kernels themselves look at the forms of weights."""
    return True


def forms_of(inputs: Sequence[Any]) -> tuple[Form, ...]:
    """Return the form of every input."""
    return tuple(map(_form, inputs))


def _differ_in_rows(forms: tuple[Form, ...], judged: tuple[Form, ...]) -> bool:
    """Whether inputs are like those judged but for the sizes of their first two dimensions. Asking
    a kernel takes longer than this."""
    return len(forms) == len(judged) and all(
        one == other
        or (
            isinstance(one[1], tuple)
            and isinstance(other[1], tuple)
            and (one[0], len(one[1]), one[1][2:]) == (other[0], len(other[1]), other[1][2:])
        )
        for one, other in zip(forms, judged, strict=True)
        if len(one) > 1 and len(other) > 1
    )


def _form(value: Any) -> Form:
    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), tuple(value.shape), _strides(value)
    if isinstance(value, dict):
        return "dict", *((key, _form(value[key])) for key in sorted(value, key=str))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(_form, value)
    # A kernel may have this value compiled in. An unhashable value never matches.
    return type(value).__name__, value if isinstance(value, Hashable) else object()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among the inputs and inside their lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _tensors(held)


def _strides(t: torch.Tensor) -> tuple[int, ...]:
    return tuple(step for step, n in zip(t.stride(), t.shape, strict=True) if n > 1)


def _share_weights(source: nn.Module, target: nn.Module) -> None:
    """Make ``target`` share the weights of ``source``, including its parameter and buffer tables.

    Because the tables are shared, replacing a tensor in one of them, as ``Module.to`` does with a
    buffer, replaces it for both modules.
    """
    state = source.state_dict(keep_vars=True)
    for name, weight in target.named_parameters():
        # Otherwise load_state_dict(assign=True) would change requires_grad in the source.
        weight.requires_grad_(state[name].requires_grad)
    target.load_state_dict(state, assign=True)
    shared = target.state_dict(keep_vars=True)
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    other = [name for name, value in tensors.items() if shared[name] is not value]
    other += _share_tables(source, target)
    if other:
        raise TaskError(
            "a kernel keeps its weights in another form, and would not follow the module's",
            seen=", ".join(other),
            do="build it by itself, as kw.build(result)",
        )


def _share_tables(source: nn.Module, target: nn.Module) -> list[str]:
    """Give the parts of ``target`` the tables of ``source``; the weights that these do not have."""
    other: list[str] = []
    parts = dict(source.named_modules(remove_duplicate=False))
    for path, part in target.named_modules(remove_duplicate=False):
        for table in ("_parameters", "_buffers"):
            held = vars(part)[table]
            of_source = vars(parts.get(path, nn.Module()))[table]
            other += [f"{path}.{name}".lstrip(".") for name in held if name not in of_source]
            if held:
                vars(part)[table] = of_source
    return other
