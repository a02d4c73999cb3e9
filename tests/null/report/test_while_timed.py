"""Clocks and neighbours stand in the verdict's JSON and beside the environment on the page."""

from dataclasses import replace

from tests.null.archive.nouns import TASK, proposal, verdict

from kernelwright.core.conditions import Conditions
from kernelwright.report.chapter import Chapter
from kernelwright.report.facts import evaluation_facts

BUSY = Conditions(0.34, 0.0, {"sm_mhz": 1980}, {"sm_mhz": 1755, "slowed_by": ["power cap"]})


def test_what_the_machine_did_is_told():
    said = proposal()
    plain = verdict(said.candidate)
    found = replace(plain, conditions=BUSY)
    told = evaluation_facts(found)["conditions"]
    assert told["neighbour_share"] == 0.34 and told["after"]["slowed_by"] == ["power cap"]
    assert evaluation_facts(plain)["conditions"] is None
    chapter, silent = (Chapter(TASK, "cpu", [(said, one)], [], 0) for one in (found, plain))
    rows = dict(chapter.environment)
    assert rows["other programs' share of the processor"] == "34%"
    assert (rows["sm MHz, before timing"], rows["sm MHz, after timing"]) == ("1980", "1755")
    assert dict(silent.environment).keys() < rows.keys()
