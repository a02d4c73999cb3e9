"""``export`` and ``check`` on the command line: exit codes, one error each, and what CI reads."""

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.archive.receipt import Receipt
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings
from kernelwright.proposers.emitted import EMITTER_VERSION, MARK
from kernelwright.shipping.source import source_of


@pytest.fixture
def archive(tmp_path):
    """An archive in which a search ended without a kernel that beats the library."""
    path = tmp_path / "archive.sqlite"
    with Archive(path) as opened:
        opened.add_task(TASK, [WORKLOAD])
        opened.finish_run(opened.start_run(TASK, Settings()))
    return path


def test_a_win_of_the_library_is_bad_input(ask, archive, tmp_path):
    code, answer = ask("export", "--to", "op", "--out", "shipped", "--archive", archive)
    assert code == 2 and "nothing was judged" in answer["error"]["seen"]
    assert not (tmp_path / "shipped").exists()


def test_an_unknown_format_names_the_known_ones(ask, archive):
    code, answer = ask("export", "--to", "wheel", "--out", "shipped", "--archive", archive)
    assert code == 2 and "hf" in str(answer["error"])


def test_a_candidates_file_is_found_by_its_receipt_or_in_the_archive(archive, tmp_path):
    said = proposal("class ModelNew: # mine", schedule={MARK: EMITTER_VERSION})
    file = tmp_path / "out" / "kernel.py"
    file.parent.mkdir()
    file.write_text(said.candidate.source)
    with pytest.raises(UsageError, match="there is no verdict on"):
        source_of(file, str(archive))
    receipt = Receipt(TASK, said.candidate, verdict(said.candidate))
    receipt.write(file.with_name("r.json"))
    assert source_of(file, str(archive)).receipt == receipt
    file.with_name("r.json").unlink()
    with Archive(archive) as opened:
        run = opened.start_run(TASK, Settings())
        opened.add_proposal(run, said)
        opened.add_evaluation(run, receipt.evaluation)
    assert source_of(file, str(archive)).receipt == receipt


def test_nothing_to_check_is_bad_input(ask):
    code, answer = ask("check")
    assert code == 2 and "which packages" in answer["error"]["what"]


def test_a_package_that_cannot_be_judged_fails_the_check(ask, tmp_path):
    (tmp_path / "empty").mkdir()
    code, answer = ask("check", "empty", "gone", "--junit", "j.xml")
    assert code == 1 and answer["stands"] is False
    assert [one["right"] for one in answer["packages"]] == ["not judged"] * 2
    assert all(one["error"]["do"] for one in answer["packages"])
    assert 'errors="2"' in (tmp_path / "j.xml").read_text()
