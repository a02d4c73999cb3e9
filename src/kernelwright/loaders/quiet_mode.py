"""Modes that see each of torch's operators, without the import of torch's compiler."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class QuietMode(TorchDispatchMode):
    """A mode that does not hide from torch's compiler.

    Torch hides the methods of other modes. For that it imports the compiler at their first
    operator: some 900 modules, 1.1 s on a Zen 5 core. A task that compiles a part of itself runs it
    eagerly under either kind of mode.

    Source:
        TorchDispatchMode._should_skip_dynamo of torch 2.13.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
