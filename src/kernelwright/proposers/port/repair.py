"""Where rules end: models are asked to finish a port, and are told what is wrong with it.

They are the swarm's models, with its budget and its ledger. What they answer is a proposal: the
ladder decides, as it does about the rules' own text.
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
from kernelwright.llm.endpoint import Messages, open_endpoint
from kernelwright.llm.ledger import Ledger

TEMPLATE = "repair-1"
N_TRIES = 3  # of one file; errors that outlast three answers outlast more
N_FAULTS = 12
"""Faults that a prompt lists: the first errors explain the later ones."""
_BLOCK = re.compile(r"^[ \t]*```[ \t]*[\w+]*[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.S | re.M)
_KERNEL = re.compile(r"__global__[^;{]*?\b(?!__launch_bounds__)(\w+)\s*\(")


@dataclass(frozen=True)
class Repair:
    """One call of a model about one file, and what came of it."""

    model: str
    template: str
    faults: tuple[str, ...]
    """What the model was told."""
    outcome: str
    """'answered', or why there is no answer."""
    unusable: str = ""
    """Why the answer is no port of the file; empty where it is one."""
    is_kept: bool = False
    """Whether the ladder found it better than what was there."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True)
class Unfinished:
    """A file that rules could not finish."""

    file: str
    original: str
    ported: str
    faults: tuple[str, ...]
    targets: tuple[str, ...]


class Repairs:
    """The models of one port, within one budget; files may ask side by side."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._ledger = Ledger(brief)
        self._lock = threading.Lock()
        self._asked = 0

    def ask(self, work: Unfinished, unusable: str = "") -> tuple[Repair, str] | None:
        """One call about ``work`` and the text that it gave, empty where there is none.

        None where nothing is left to spend. ``unusable`` is what was wrong with the form of the
        answer before.

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
            endpoint.name, TEMPLATE, work.faults, str(reply.outcome), fault, False,
            spent.input_tokens, spent.output_tokens, spent.cost_usd,
        )  # fmt: skip
        return repair, text


def prompt(work: Unfinished, unusable: str = "") -> Messages:
    """The messages about one file."""
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
    """The file in an answer, or what is wrong with it: (text, fault), one of them empty."""
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


def mended(text: str, before: Translation, *, model: str, file: str) -> Translation:
    """A model's text as a translation: what rules did, what is still CUDA's, and whose it is."""
    left = translate(text, file=file).unported
    done = tuple(f for f in before.findings if f.state is not State.UNPORTED)
    note = Finding(
        1, State.CHANGED, "repair by a model", model,
        "parts of this file are not the rules' work", "read them beside the original", file,
    )  # fmt: skip
    return Translation(text, (note, *done, *left))


def _kernels(text: str) -> set[str]:
    return set(_KERNEL.findall(text))


def _plain(text: str) -> str:
    """Text that any server takes: a source may hold what UTF-8 does not."""
    return text.strip().encode("utf-8", "replace").decode() + "\n"


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("kernelwright.proposers.port", "templates"), undefined=StrictUndefined
    )
