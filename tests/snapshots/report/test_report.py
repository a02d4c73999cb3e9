"""The whole page of a small archive, without its charts and style sheet."""

import re

from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.report.page import write


def test_page(tmp_path, snapshot):
    first = proposal(lineage=("fuse pointwise", "one pass"), schedule={"tile": 64}, note="fused")
    second = proposal("import torch\n", parent=first.candidate.digest)
    with Archive(tmp_path / "archive.sqlite") as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        for said, status in ((first, Status.PASSED), (second, Status.WRONG_VALUES)):
            archive.add_proposal(run, said)
            archive.add_evaluation(run, verdict(said.candidate, status, kinds=("kernel",)))
        archive.finish_run(run)
        text = write(archive, tmp_path / "page.html").read_text()
    text = re.sub(r"<svg.*?</svg>", "<svg/>", text, flags=re.S)
    assert re.sub(r"<style>.*?</style>", "<style/>", text, flags=re.S) == snapshot
