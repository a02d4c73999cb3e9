"""Verdicts: a prepared candidate is examined, and what fails in it is the verdict."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections import deque
from collections.abc import Iterator

from kernelwright.core.errors import DeviceError, KernelwrightError
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Reason, ReasonCode
from kernelwright.core.task import Task
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.examiner import Examiner
from kernelwright.judge.refusal import Refused, memory_apart
from kernelwright.judge.scheduling.memory import blamed_on_memory, held_bytes, too_much
from kernelwright.judge.submission import Submission


class Verdicts:
    """The verdicts of one examiner: one for every candidate, whatever it does.

    Every method raises ``KernelwrightError`` where it is the task that fails.
    """

    def __init__(self, examiner: Examiner, backend: DeviceBackend, task: Task) -> None:
        self._examiner, self._backend, self._task = examiner, backend, task
        self._shown: set[str] = set()

    def close(self) -> None:
        """End what the examiner has started."""
        self._examiner.close()

    def examine(self, prepared: Submission, max_time_s: float, *, is_first: bool = False) -> None:
        """Check and time what was prepared; where that refuses it, that is the verdict."""
        with self._attempt(prepared):
            if prepared.error is not None:
                raise prepared.error
            self._examiner.examine(prepared, max_time_s, is_first=is_first)

    def finish(self, prepared: Submission) -> Evaluation:
        """Find out of what kind an examined candidate is, and end it."""
        if prepared.found is None:
            with self._attempt(prepared):
                self._examiner.identify(prepared)
        if prepared.found is None:
            prepared.found = prepared.verdict.conclude()
        prepared.close()
        return prepared.found

    def finished(self, waiting: deque[Submission], n_starting: int = 0) -> Iterator[Evaluation]:
        """The verdicts on examined candidates, in their order; of those whose profilers start so
        many may be left, and what came after them."""
        while waiting:
            n_left = sum(prepared.is_starting for prepared in waiting)
            if waiting[0].is_starting and n_left <= n_starting:
                return
            yield self.finish(waiting.popleft())

    @contextlib.contextmanager
    def _attempt(self, prepared: Submission) -> Iterator[None]:
        """A part of an examination; what fails in it is the verdict, and ends the candidate."""
        verdict = prepared.verdict
        try:
            with memory_apart():
                yield
            return
        except Refused as refused:
            refused = blamed_on_memory(self._backend, self._task, refused)
            prepared.found = verdict.conclude(refused.reason)
        except (DeviceError, MemoryError) as error:
            if held := held_bytes(self._backend, prepared.close):
                prepared.found = verdict.conclude(too_much(held).reason)
            else:
                self._examiner.excuse()
                is_memory = isinstance(error, MemoryError)
                code = ReasonCode.JUDGE_OUT_OF_MEMORY if is_memory else ReasonCode.DEVICE_FAILED
                why = str(error) or type(error).__name__
                prepared.found = verdict.conclude(Reason(code, why))
        except KernelwrightError:  # about the task
            prepared.close()
            raise
        except Exception as error:  # a fault of the judge's own costs one candidate, not the run
            self._show(error)
            why = f"the judge failed on it: {type(error).__name__}: {error}"
            prepared.found = verdict.conclude(Reason(ReasonCode.JUDGE_FAILED, why))
        except BaseException:
            prepared.close()
            raise
        prepared.close()

    def _show(self, error: Exception) -> None:
        """The traceback on stderr, once for each place that fails: the verdict has no room for it,
        and looks like that of a bad machine."""
        where = "".join(traceback.format_tb(error.__traceback__))
        if where not in self._shown:
            self._shown.add(where)
            sys.stderr.write("the judge failed on a candidate; please report this:\n")
            traceback.print_exception(error)
