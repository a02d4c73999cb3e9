"""What techniques brought, alone and combined, from candidates that were judged anyway."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.null.archive.nouns import proposal
from tests.null.report.test_scores import chapter, timed

from kernelwright.core.candidate import Candidate
from kernelwright.report.page import Beside, write_chapters
from kernelwright.report.scores import Score
from kernelwright.report.techniques import ablation


def made(text, *lineage, dialect="cpp"):
    return replace(proposal(), candidate=Candidate(text, dialect), lineage=lineage)


def test_a_technique_is_left_out_with_all_that_use_it():
    found = ablation([
        chapter(
            timed(made("a", "fused"), 16),  # 1.25
            timed(made("b", "sums are reordered", "fused"), 10),  # 2
            timed(made("c", "sums are reordered", "fused, own matmul", dialect="triton"), 5),  # 4
        )
    ])  # fmt: skip
    rows = {row.name: row for row in found.techniques}
    assert (found.n_tasks, found.combined) == (1, pytest.approx(4.0))
    sums, own, triton = (
        rows["sums are reordered"],
        rows["own matmul"],
        rows["in triton"],
    )
    assert (sums.alone, sums.without, sums.added) == pytest.approx((2.0, 1.25, 3.2))
    assert (own.alone, own.without, own.n_tried, own.n_won) == (1.0, pytest.approx(2.0), 1, 1)
    assert (triton.alone, triton.without) == pytest.approx((4.0, 2.0))
    assert found.product == pytest.approx(2.0 * 1.25)  # dialects are not multiplied


def test_losers_and_tasks_without_a_verdict_count_one():
    found = ablation([chapter(timed(made("a", "fused"), 25))], n_tasks=3)
    (dialect, fused) = found.techniques
    assert (found.n_tasks, found.combined, fused.added, dialect.n_won) == (3, 1.0, 1.0, 0)
    assert ablation([]).combined == 1.0


def test_the_page_of_a_suite_has_the_table(tmp_path):
    chapters = [chapter(timed(made("a", "sums are <reordered>", "fused"), 10))]
    text = Path(
        write_chapters(chapters, tmp_path / "p.html", Beside([Score("1", "t", 2.0)]))
    ).read_text()
    assert "What each technique brought" in text and "sums are &lt;reordered&gt;" in text
