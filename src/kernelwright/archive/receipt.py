"""The receipt: one verdict with everything needed to repeat it, as one JSON file.

A receipt is no proof: whoever can write a file can write a receipt. Its repetition is the proof.
Repeating one runs the task that it holds, as opening that task's own file would.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kernelwright.core.candidate import Candidate
from kernelwright.core.codec import plain, rebuilt
from kernelwright.core.device import Device
from kernelwright.core.digest import digest
from kernelwright.core.errors import KernelwrightError, ReceiptError
from kernelwright.core.evaluation import (
    CANDIDATE,
    Environment,
    Evaluation,
    Timing,
)
from kernelwright.core.old_texts import reason_of, warning_of
from kernelwright.core.outcome import Reason, Status, Warned
from kernelwright.core.places import require_file, written_whole
from kernelwright.core.task import Task

FORMAT = "kernelwright receipt"
_MARK = f'"format": "{FORMAT}"'
VERSION = 3
"""Of the file's format; a newer one is refused, not guessed at. The first knew no conditions, and
reasons and warnings had no codes before the third."""
_WRONG = (
    ArithmeticError, AttributeError, KernelwrightError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
"""What content that nobody wrote down so raises when it is put together."""
OF_SETTINGS = ("threads", "cache", "max_autotune", "compiled")
"""Facts of an environment that are settings too."""
CACHES = ("cold", "warm")
MOST_NS = 2**63 - 1
"""The largest integer of an archive's column: https://www.sqlite.org/datatype3.html"""


@dataclass(frozen=True)
class Receipt:
    """A verdict, the task and the candidate that it is about.

    Raises:
        ValueError: the verdict is about another task or candidate.
    """

    task: Task
    candidate: Candidate
    evaluation: Evaluation

    def __post_init__(self) -> None:
        about = (self.evaluation.task, self.evaluation.candidate)
        if about != (self.task.digest, self.candidate.digest):
            raise ValueError("the verdict is about another task or candidate")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that a judge heeds, as they were: device, threads, cache, and whether
        max-autotune was among the library settings."""
        facts = self.evaluation.environment.facts
        device = Device.parse(self.evaluation.environment.device)
        named = {"device": str(Device(device.kind, index=device.index))}
        return named | {key: facts[key] for key in OF_SETTINGS if key in facts}

    @staticmethod
    def require_place(path: Path | str) -> None:
        """Fail early, before a long judgement, if no receipt can be written to ``path``.

        Raises:
            UsageError: a file that is no receipt is there.
            OSError: it cannot.
        """
        require_file(path, "receipt", _MARK)

    def write(self, path: Path | str) -> Path:
        """Write the file; folders on the way are made.

        Raises:
            UsageError, OSError: as for ``require_place``.
        """
        self.require_place(path)
        with written_whole(path) as partial:
            partial.write_text(self.to_json(), encoding="ascii")
        return Path(path)

    @classmethod
    def read(cls, path: Path | str) -> Receipt:
        """The receipt in a file.

        Raises:
            ReceiptError: there is none, or it is damaged, was changed, or is of a newer version.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ReceiptError(
                f"{path} cannot be read", seen=str(error), do="name a file that --receipt wrote"
            ) from error
        return cls.from_json(text, where=str(path))

    def to_json(self) -> str:
        """The file's text: strict JSON in ASCII, the same for the same verdict but for its date."""
        content = _content(self) | {
            "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "written_by": f"kernelwright {importlib.metadata.version('kernelwright')}",
        }
        return json.dumps({**content, "digest": _seal(content)}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, where: str = "the receipt") -> Receipt:
        """What ``to_json`` wrote; ``where`` names it in errors.

        Raises:
            ReceiptError: as for ``read``.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _damaged(where, f"it is not JSON: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ReceiptError(
                f"{where} is not a receipt",
                seen=f"JSON without {_MARK}",
                do="name a file that `kernelwright judge --receipt FILE` wrote",
            )
        version = content.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise ReceiptError(
                f"{where} was written by a newer version",
                seen=f"format version {version}; this one reads up to {VERSION}",
                do="install a newer kernelwright: " + str(content.get("written_by", ""))[:80],
            )
        try:
            receipt = _rebuilt(content)
            is_whole = content.get("digest") == _seal(content)
        except _WRONG as error:
            raise _damaged(where, f"{type(error).__name__}: {error}"[:300]) from error
        if not is_whole:
            raise _damaged(where, "its content is not what its digest names")
        return receipt


def _content(receipt: Receipt) -> dict[str, Any]:
    """Everything but the date. Digests, settings and speedups are there for the reader."""
    task, candidate, evaluation = receipt.task, receipt.candidate, receipt.evaluation
    speedups = evaluation.timing.speedups if evaluation.timing else {}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "task": {**plain(task), "digest": task.digest},
        "candidate": {**plain(candidate), "digest": candidate.digest},
        "settings": receipt.settings,
        "verdict": plain(evaluation),
        "speedup": {name: plain(ratio) for name, ratio in speedups.items()},
    }
    # Through text, so that it compares equal with what is read: lists for tuples.
    read: dict[str, Any] = json.loads(json.dumps(_finite(content)))
    return read


def _rebuilt(content: Mapping[str, Any]) -> Receipt:
    """The receipt that a file's content tells, once its derived parts agree with the rest."""
    task = rebuilt(Task, content["task"])
    candidate = rebuilt(Candidate, content["candidate"])
    for name, known in (("task", task.digest), ("candidate", candidate.digest)):
        if known != content[name]["digest"]:
            raise ValueError(f"the {name}'s text is not the one that its digest names")
    receipt = Receipt(task, candidate, _evaluation(content["verdict"]))
    follows = _content(receipt) | {"version": content["version"]}
    if content["version"] < 2:
        del follows["verdict"]["conditions"]
    if content["version"] < 3:
        for key in ("reasons", "warnings"):
            follows["verdict"][key] = [told["detail"] for told in follows["verdict"][key]]
    wrong = [key for key, value in follows.items() if content.get(key) != value]
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: not what follows from the rest")
    return receipt


def _evaluation(facts: Mapping[str, Any]) -> Evaluation:
    facts = dict(facts)
    if facts["numerics"] is not None:  # with NaN as text
        numerics = facts["numerics"].items()
        facts["numerics"] = {k: float(v) if isinstance(v, str) else v for k, v in numerics}
    status = Status(facts["status"])
    facts["reasons"] = [_coded(one, partial(reason_of, status)) for one in facts["reasons"]]
    facts["warnings"] = [_coded(one, warning_of) for one in facts["warnings"]]
    found = rebuilt(Evaluation, facts)
    _require_settings(found.environment)
    if found.timing is not None:
        _require_samples(found.timing)
    return found


def _coded(told: Any, code_of: Callable[[str], Reason | Warned]) -> Any:
    """A reason or a warning as it stands; a text of before the codes with its code."""
    return plain(code_of(told)) if isinstance(told, str) else told


def _require_settings(environment: Environment) -> None:
    """See that facts which are settings of the repetition too can be."""
    facts = environment.facts
    threads, cache = facts.get("threads", 1), facts.get("cache", CACHES[0])
    if type(threads) is not int or threads < 1 or cache not in CACHES:
        raise ValueError(f"no verdict has threads {threads!r:.40} and cache {cache!r:.40}")
    for name in ("max_autotune", "compiled"):
        if type(facts.get(name, True)) is not bool:
            raise ValueError(f"{name} is true or false")


def _require_samples(timing: Timing) -> None:
    """See that samples are times, and that the strongest baseline has some."""
    for ns in itertools.chain(*timing.samples_ns.values()):
        if ns is not None and not 0 < ns <= MOST_NS:
            raise ValueError(f"{ns!r:.40} is no sample in nanoseconds")
    if timing.strongest not in timing.samples_ns.keys() - {CANDIDATE}:
        raise ValueError(f'no samples of the strongest baseline, "{timing.strongest:.40}"')


def _finite(value: Any) -> Any:
    """The value with NaN and infinities, which JSON does not have, as the text float() reads."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _seal(content: Mapping[str, Any]) -> str:
    """The digest of everything else in the file, by its ASCII text: a reason may hold halves of
    surrogate pairs, which have no bytes."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    return digest("receipt", json.dumps(rest, sort_keys=True))


def _damaged(where: str, seen: str) -> ReceiptError:
    return ReceiptError(
        f"{where} is damaged, or was changed after it was written",
        seen=seen,
        do="take the file as it was written, or judge the candidate anew",
    )
