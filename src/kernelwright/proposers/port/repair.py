"""Asks models to finish a port that the rules could not finish, and tells them what is wrong.

The models, the budget and the ledger are the swarm's. An answer is only a proposal: the ladder of
checks decides, as it does for the rules' own text.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from kernelwright.core.call import Outcome
from kernelwright.core.candidate import Brief
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.translate import Translation, translate
from kernelwright.llm.endpoint import Messages
from kernelwright.llm.ledger import Ledger
from kernelwright.llm.opening import open_endpoint

TEMPLATE = "repair-1"
N_TRIES = 3
"""Calls about one file: errors that survive three answers survive more."""
N_FAULTS = 12
"""Faults that a prompt lists at most: the first errors explain the later ones."""
_BLOCK = re.compile(r"^[ \t]*```[ \t]*[\w+]*[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.S | re.M)
_KERNEL = re.compile(r"__global__[^;{]*?\b(?!__launch_bounds__)(\w+)\s*\(")


@dataclass(frozen=True)
class Repair:
    """One call of a model about one file, with its result."""

    model: str
    template: str
    faults: tuple[str, ...]
    """The faults that the model was told about."""
    outcome: str
    """'answered', or the reason why there is no answer."""
    unusable: str = ""
    """The reason why the answer is not a port of the file; empty if it is one."""
    is_kept: bool = False
    """Whether the ladder found the answer better than the text before it."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class UnfinishedFile:
    """A file that rules could not finish."""

    file: str
    original: str
    ported: str
    faults: tuple[str, ...]
    targets: tuple[str, ...]


class Repairs:
    """Asks the models of one port within one budget; several threads may ask at once."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._ledger = Ledger(brief)
        self._lock = threading.Lock()
        self._asked = 0

    def ask(self, work: UnfinishedFile, unusable: str = "") -> tuple[Repair, str] | None:
        """Ask a model about ``work``; return the call and its text, which may be empty.

        Returns None if no budget is left. ``unusable`` says what was wrong with the form of the
        previous answer.

        Raises:
            ProposerError: the model cannot be asked at all.
        """
        with self._lock:
            number, self._asked = self._asked, self._asked + 1
        endpoint = open_endpoint(self._brief.models[number % len(self._brief.models)])
        parameters = endpoint.parameters(self._brief.seed + number)
        messages = prompt(work, unusable)
        most = self._ledger.reserve(endpoint.name, messages, parameters["max_output_tokens"])
        if most is None:
            return None
        reply = endpoint.ask(messages, parameters, self._ledger.timeout_s())
        spent = self._ledger.settle(endpoint.name, most, reply)
        text, fault = read(reply.answer, work.ported)
        if reply.outcome is not Outcome.ANSWERED:
            text, fault = "", reply.detail
        repair = Repair(
            endpoint.name,
            TEMPLATE,
            work.faults,
            outcome=str(reply.outcome),
            unusable=fault,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
        )
        return repair, text


def prompt(work: UnfinishedFile, unusable: str = "") -> Messages:
    """Return the messages about one file."""
    facts = {
        "original": work.original,
        "ported": work.ported,
        "faults": work.faults[:N_FAULTS],
        "targets": ", ".join(work.targets),
        "unusable": unusable,
    }
    return tuple(
        (role, _plain(_templates().get_template(f"{TEMPLATE}.{role}.md.j2").render(facts)))
        for role in ("system", "user")
    )


def read(answer: str, ported: str) -> tuple[str, str]:
    """Return (text, fault): an answer's file or what is wrong with it; one of them is empty."""
    blocks = _BLOCK.findall(answer)
    if not blocks:
        return "", "it has no whole block of code"
    text = blocks[-1]
    lost = _kernels(ported) - _kernels(text)
    if lost:
        return "", f"it leaves out {', '.join(sorted(lost))}"
    if re.search(r"\bmain\s*\(", ported) and not re.search(r"\bmain\s*\(", text):
        return "", "it leaves out main"
    return text, ""


def repaired(text: str, before: Translation, *, model: str, file: str) -> Translation:
    """Return a model's text as a translation.

    Its findings are the rules' earlier changes, the constructs that are still CUDA's, and a note
    that names the model.
    """
    left = translate(text, file=file).unported
    done = tuple(f for f in before.findings if f.state is not State.UNPORTED)
    note = Finding(
        1,
        State.CHANGED,
        "repair by a model",
        model,
        "parts of this file are not the rules' work",
        "read them beside the original",
        file,
    )
    return Translation(text, (note, *done, *left))


def _kernels(text: str) -> set[str]:
    return set(_KERNEL.findall(text))


def _plain(text: str) -> str:
    """Return text that any server accepts: a source may contain bytes that are not UTF-8."""
    return text.strip().encode("utf-8", "replace").decode() + "\n"


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("kernelwright.proposers.port", "templates"), undefined=StrictUndefined
    )
