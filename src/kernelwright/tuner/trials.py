"""TrialRunner: batches of candidates in, one trial for each out, whatever the candidates do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from kernelwright.core.candidate import Proposal
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.judge.scheduling.device_lock import DeviceLock
from kernelwright.tuner.process import TunerProcess, WorkerEnded
from kernelwright.tuner.racing import STAGES, quartile_interval, typical_ns
from kernelwright.tuner.worker import NOBODY, REFERENCE, Entrant, Entry

TUNER_VERSION = 2
"""Changes when trials are measured in another way, so that their times do not compare."""

Samples = dict[str, list[float]]


class TrialRunner:
    """Measures candidates in the tuner's process.

    The best candidate so far, the anchor, takes part in every race. Times are scaled by what it
    took, so that those of all races compare.
    """

    def __init__(self, process: TunerProcess, lock: DeviceLock, *, must_work: bool = False) -> None:
        """``process`` has been given the question. With ``must_work`` a candidate whose work the
        library does has failed."""
        self._process, self._lock, self._must_work = process, lock, must_work
        self._loaded: set[str] = set()
        self._anchor: Proposal | None = None
        self._anchor_ns = self._reference_ns = 0.0

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Context for measuring; at its end the worker gives its memory back."""
        try:
            yield
        finally:
            self._loaded.clear()
            self._process.give_memory_back()

    def start(self) -> None:
        """Start the worker and wait until it stands ready.

        Raises:
            DeviceError: it cannot be started.
        """
        with self._lock.shared() as hold:
            self._process.start(hold)

    def adopt(self, proposal: Proposal, trial: Trial) -> None:
        """Make a candidate the anchor if its trial is the best so far."""
        if trial.time_ns is None or trial.reference_ns is None:
            return
        if self._anchor is None or trial.time_ns < self._anchor_ns:
            self._anchor, self._anchor_ns = proposal, trial.time_ns
            self._reference_ns = trial.reference_ns

    def measure(self, batch: Sequence[Proposal], stages: Sequence[int] = STAGES) -> list[Trial]:
        """Return the trial of every proposal, in order.

        Raises:
            DeviceError: the tuner's process cannot be started.
        """
        by_name = {proposal.candidate.digest: proposal for proposal in batch}
        entries, samples = self._raced(by_name, stages)
        scale = self._scale(samples)
        trials = []
        for name, proposal in by_name.items():
            times = samples.get(name, [])
            low_ns, high_ns = quartile_interval(times) if times else (None, None)
            trial = Trial(
                candidate=name,
                dialect=proposal.candidate.dialect,
                outcome=entries[name].outcome,
                schedule=proposal.schedule,
                detail=entries[name].detail,
                time_ns=scale * typical_ns(times) if times else None,
                reference_ns=self._reference_ns if times else None,
                n_samples=len(times),
                low_ns=scale * low_ns if low_ns else None,
                high_ns=scale * high_ns if high_ns else None,
            )
            trials.append(trial)
        for name, trial in zip(by_name, trials, strict=True):
            self.adopt(by_name[name], trial)
        return trials

    def _scale(self, samples: Samples) -> float:
        """Return the factor from this race's times to those of the first race."""
        if REFERENCE in samples:
            self._reference_ns = typical_ns(samples[REFERENCE])
        if self._anchor is None or self._anchor.candidate.digest not in samples:
            return 1.0
        return self._anchor_ns / typical_ns(samples[self._anchor.candidate.digest])

    def _raced(
        self, batch: Mapping[str, Proposal], stages: Sequence[int]
    ) -> tuple[dict[str, Entry], Samples]:
        """Load the batch and race all that stands ready; begin again without one that ends the
        worker."""
        entries: dict[str, Entry] = {}
        while True:
            self._load(batch, entries)
            arms = [name for name in batch if entries[name].is_ready]
            if not arms:
                return entries, {}
            kept = [self._anchor.candidate.digest if self._anchor else REFERENCE]
            names = [*dict.fromkeys((*arms, *kept))]
            try:
                with self._lock.exclusive():
                    return entries, self._process.ask("race", names, kept, stages)
            except WorkerEnded as ended:
                self._loaded.clear()
                entries = {name: entry for name, entry in entries.items() if not entry.is_ready}
                entries[names[ended.number]] = _ended(ended)

    def _load(self, batch: Mapping[str, Proposal], entries: dict[str, Entry]) -> None:
        """Load the anchor and what of the batch has no entry yet; fill in what came of each."""
        while True:
            anchor = {self._anchor.candidate.digest: self._anchor} if self._anchor else {}
            if any(name in entries and not entries[name].is_ready for name in anchor):
                self._anchor, anchor = None, {}
            kept = [name for name in anchor if name in self._loaded]
            known = {*entries, *kept}
            missing = [p for name, p in {**anchor, **batch}.items() if name not in known]
            entries |= {name: Entry() for name in kept}
            if not missing:
                return
            entrants = [self._entrant(proposal) for proposal in missing]
            try:
                with self._lock.shared() as hold:
                    found = self._process.ask("load", entrants, kept, hold=hold)
            except WorkerEnded as ended:
                self._loaded.clear()
                for name in kept:
                    del entries[name]
                if ended.number == NOBODY:
                    entries |= self._ending_at_import(entrants)
                else:
                    entries[entrants[ended.number].name] = _ended(ended)
                continue
            entries |= {entrant.name: entry for entrant, entry in zip(entrants, found, strict=True)}
            self._loaded = {name for name, entry in entries.items() if entry.is_ready}
            return

    def _entrant(self, proposal: Proposal) -> Entrant:
        candidate = proposal.candidate
        name, is_foreign = candidate.digest, not self._process.is_ours_only
        return Entrant(name, candidate.source, candidate.entry, is_foreign, self._must_work)

    def _ending_at_import(self, entrants: Sequence[Entrant]) -> dict[str, Entry]:
        """Load the entrants one by one, to find those that end the worker."""
        found = {}
        for entrant in entrants:
            try:
                with self._lock.shared() as hold:
                    self._process.ask("load", [entrant], [], hold=hold)
            except WorkerEnded as ended:
                found[entrant.name] = _ended(ended)
        return found


def _ended(ended: WorkerEnded) -> Entry:
    outcome = TrialOutcome.LATE if ended.is_late else TrialOutcome.CRASHED
    return Entry(outcome, str(ended))
