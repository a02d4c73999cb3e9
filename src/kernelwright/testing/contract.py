"""What the conformance suites share: how a broken contract is told, and devices to ask about."""

from __future__ import annotations

from typing import Any

from kernelwright.core import plugins
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError

DEVICES = tuple(
    Device.parse(text)
    for text in ("cpu", "cuda", "cuda:1", "cuda:sm_90", "hip:gfx942", "metal:apple9")
)
"""One device of every kind, whether or not this machine has it."""


class ContractError(AssertionError):
    """A plugin breaks its contract: what is wrong, what was seen, and what to do about it."""

    def __init__(self, what: str, *, seen: object = None, do: str) -> None:
        self.what, self.seen, self.do = what, seen, do
        super().__init__(f"{what}\n  seen: {seen!r}\n  do:   {do}")


def require(holds: bool, what: str, *, seen: object = None, do: str) -> None:
    """See that a part of a contract ``holds``; ``what`` says what is wrong where it does not.

    Raises:
        ContractError: it does not hold.
    """
    if not holds:
        raise ContractError(what, seen=seen, do=do)


def require_registered(plugin: Any, group: str) -> None:
    """See that a plugin is found in a group of entry points, by its name if it has one.

    Raises:
        ContractError: it is not registered, or cannot be made without arguments.
    """
    kind = type(plugin)
    try:
        kind()
    except TypeError as error:
        raise ContractError(
            f"{kind.__name__} cannot be made without arguments",
            seen=str(error),
            do="keep no state: give its constructor no parameters",
        ) from error
    found = {name: type(plugins.find(group, name)) for name in plugins.names(group)}
    names = [name for name, other in found.items() if other is kind]
    require(
        bool(names),
        f"{kind.__name__} is not registered",
        seen=sorted(found),
        do=f'name it under [project.entry-points."{group}"] and install the package',
    )
    name = getattr(plugin, "name", names[0])
    require(
        name in names,
        f"{kind.__name__} is registered under another name than its own",
        seen=f'registered as "{names[0]}", and its name is "{name}"',
        do="make them the same: results are kept and shown under the name",
    )


def require_clear(error: KernelwrightError, where: str) -> None:
    """See that an error says what to do about it.

    Raises:
        ContractError: it does not.
    """
    require(
        bool(error.what and error.do),
        f"the error {where} does not say what to do",
        seen=str(error),
        do=f"raise {type(error).__name__}(what, seen=..., do=...)",
    )
