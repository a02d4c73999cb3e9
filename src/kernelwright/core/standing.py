"""Outcomes of measurements: of one candidate beside the library, and of a whole search.

Tables, JSON, ``bench`` and the report take their words from these codes and decide nothing again.
"""

from __future__ import annotations

from kernelwright.core.code import Code


class Standing(Code):
    """Where a verdict puts a candidate beside the strongest library setting."""

    FASTER = (
        "faster",
        "The whole interval of the speedup is above 1, and its ends differ by less than a factor "
        "of 1.5 or are both above 1.5.",
    )
    UNDECIDED = (
        "undecided",
        "The interval is too wide to tell: it holds 1 as well as a gain of more than 5 %, or it is "
        "above 1 and its ends differ by more than a factor of 1.5.",
    )
    NO_FASTER = "no_faster", "The interval holds 1, and no gain of more than 5 %."
    SLOWER = "slower", "The whole interval is below 1."
    NOT_TIMED = "not_timed", "The candidate is right, and was not timed."
    REFUSED = "refused", "The candidate did not pass."


class SearchOutcome(Code):
    """The outcome of a search; the last verdict on each candidate counts."""

    WON = "won", "A candidate is faster than the strongest library setting, and is the result."
    UNDECIDED = (
        "undecided",
        "No candidate is surely faster, and one may be: it is faster by its median, and its "
        "interval is too wide to tell. The library setting is the result.",
    )
    LIBRARY = "library", "No candidate is faster: the library setting is the result."
    NOT_TIMED = "not_timed", "Candidates are right, and none was timed."
    NONE_PASSED = "none_passed", "No candidate passed: the library setting is the result."
    NOTHING_JUDGED = "nothing_judged", "No candidate was judged: the library setting is the result."
