"""What models cost stands on the page, model by model, as the archive knows it."""

from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict
from tests.null.archive.test_calls import CALL
from tests.null.report.test_page import Reader, page

from kernelwright.archive import Archive
from kernelwright.core.call import Outcome
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.report.spending import spending

DEAR, CHEAP = "openai:dear", "hf:cheap"


def calls():
    """Two kernels and a mended one by the dear model, a failure by the cheap one."""
    plain = replace(CALL, model=DEAR, input_tokens=1000, output_tokens=500, cost_usd=0.6)
    return [
        replace(plain, id="01"),
        replace(plain, id="02", answer="no code"),
        replace(plain, id="03", purpose="reformat", follows="02"),
        replace(plain, id="04", model=CHEAP, outcome=Outcome.FAILED, cost_usd=0.0),
    ]


def history():
    right, wrong = proposal("right", call="01"), proposal("wrong", call="03")
    return [
        (right, verdict(right.candidate)),
        (wrong, verdict(wrong.candidate, Status.WRONG_VALUES)),
        (proposal("rules"), verdict(proposal("rules").candidate)),
    ]


def test_every_model_has_a_row_and_all_of_them_a_last_one():
    dear, cheap, both = spending(calls(), history())
    assert (dear.model, cheap.model, both.model) == (DEAR, CHEAP, "all models")
    assert (dear.success, dear.n_judged, dear.n_other) == ("1 of 2 (50 %)", 2, 1)
    assert (cheap.success, cheap.n_unanswered) == ("0 of 1 (0 %)", 1)
    assert (dear.input_tokens, both.output_tokens) == (3000, 2000)
    assert dear.cost_usd == pytest.approx(1.8) and dear.cost_text == "1.80"


def test_a_price_that_nobody_stated_makes_no_sum():
    one, other = calls()[:2]
    (row,) = spending([one, replace(other, cost_usd=None)], [])
    assert row.cost_usd is None and row.cost_text == "price unknown"


def test_the_page_shows_them_and_without_models_nothing(tmp_path):
    with Archive(tmp_path / "archive.sqlite") as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        said, found = history()[2]
        archive.add_proposal(run, said)
        archive.add_evaluation(run, found)
        assert "What the models cost" not in page(archive, tmp_path)
        for call in calls():
            archive.add_call(run, call)
        for said, found in history()[:2]:
            archive.add_proposal(run, said)
            archive.add_evaluation(run, found)
        text = " ".join(Reader(page(archive, tmp_path)).text.split())
    assert "What the models cost" in text and "1 of 2 (50 %)" in text and "3,000" in text
