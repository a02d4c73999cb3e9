"""How fast a suite goes: trials and verdicts a second, and how long its GPUs had nothing to do."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from kernelwright.archive import Archive
from kernelwright.judge.devices import nvml

EVERY_S = 0.5


class Pace:
    """Measures a suite's pace while the context lasts.

    A GPU is busy in the share of the time in which a kernel ran on it, as the driver's management
    library says. Kernels of other programs count as well.
    """

    def __init__(self, archive: str, gpus: Sequence[int] = ()) -> None:
        """``gpus``: the numbers of the GPUs that the suite uses."""
        self._archive = archive
        self._busy: dict[int, list[float]] = {gpu: [] for gpu in gpus}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._before = (0, 0)
        self._start_s = self._took_s = 0.0

    def __enter__(self) -> Pace:
        self._before, self._start_s = self._counts(), time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._took_s = time.monotonic() - self._start_s
        self._is_over.set()
        self._thread.join()

    def facts(self) -> dict[str, Any]:
        """Return the seconds, the rates and the idle shares, once the context has ended.

        Units:
            Rates are per second, of all GPUs together.
        """
        trials, verdicts = (
            now - then for now, then in zip(self._counts(), self._before, strict=True)
        )
        return {
            "seconds": self._took_s,
            "trials_per_s": trials / self._took_s,
            "verdicts_per_s": verdicts / self._took_s,
            "gpu_idle_shares": [
                1 - statistics.fmean(shares) for shares in self._busy.values() if shares
            ],
        }

    def _counts(self) -> tuple[int, int]:
        with Archive(self._archive) as archive:
            return archive.counts()

    def _watch(self) -> None:
        while not self._is_over.wait(EVERY_S):
            for gpu, shares in self._busy.items():
                with contextlib.suppress(nvml.Unknown):
                    shares.append(nvml.busy_share(gpu))


def line(facts: dict[str, Any]) -> str:
    """Return the facts as one line for a terminal."""
    said = (
        f"{facts['seconds'] / 60:.1f} min: {facts['trials_per_s']:.2f} trials and "
        f"{facts['verdicts_per_s']:.2f} verdicts a second"
    )
    shares = ", ".join(f"{share:.0%}" for share in facts["gpu_idle_shares"])
    return f"{said}; GPUs idle {shares} of the time" if shares else said
