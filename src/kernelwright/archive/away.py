"""Waits for a server that is away for a while, so that a search outlives its restart."""

from __future__ import annotations

import logging

import tenacity

from kernelwright.archive.errors import AwayError

AWAY_S = 600.0
"""Seconds for which a server may be away before a search ends."""
_LOG = logging.getLogger("kernelwright")


def _tell(state: tenacity.RetryCallState) -> None:
    """Say it at the first failure; the others are the same."""
    if state.attempt_number == 1 and state.outcome is not None:
        _LOG.warning("%s; trying again for %.0f min", state.outcome.exception(), AWAY_S / 60)


until_back = tenacity.retry(
    retry=tenacity.retry_if_exception_type(AwayError),
    wait=tenacity.wait_exponential(multiplier=0.2, max=5.0),
    stop=tenacity.stop_after_delay(AWAY_S),
    before_sleep=_tell,
    reraise=True,
)
"""Repeats a function until the server of an archive is back."""
