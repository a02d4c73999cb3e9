"""GPUs of one architecture and different names: their verdicts never stand in one chapter."""

from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.bench import known
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.devices.environment import Here
from kernelwright.report.chapter import chapters
from kernelwright.report.page import write_chapters

NAMES = ("NVIDIA H100 80GB HBM3", "NVIDIA H200")


def judged(path, names) -> Settings:
    told = Settings(archive=str(path / "archive.sqlite"), device="cuda")
    with Archive(told.archive) as archive:
        archive.add_task(TASK, [WORKLOAD])
        for name in names:
            run, said = archive.start_run(TASK, told), proposal(f"# {name}")
            archive.add_proposal(run, said)
            place = Environment("cuda:sm_90", {"gpu": name})
            found = verdict(said.candidate, environment=place, judge_version=JUDGE_VERSION)
            archive.add_evaluation(run, found)
            ended = {"device": place.device, "environment": dict(place.facts)}
            archive.finish_run(run, ended | {"judge": JUDGE_VERSION})
    return told


def test_each_has_a_chapter_with_a_name_of_its_own(tmp_path):
    with Archive(judged(tmp_path, NAMES).archive) as archive:
        found = chapters(archive, [TASK])
    assert [one.where for one in found] == [f"cuda:sm_90 ({name})" for name in NAMES]
    assert len({one.anchor for one in found}) == 2
    assert [len(one.history) for one in found] == [1, 1]
    page = write_chapters(found, tmp_path / "page.html").read_text()
    assert all(one.where in page and f'id="{one.anchor}"' in page for one in found)


def test_a_bench_takes_the_verdicts_of_the_gpu_that_is_here(tmp_path):
    told = judged(tmp_path, NAMES[:1])
    for name, is_known in zip(NAMES, (True, False), strict=True):
        here = Here("cuda:sm_90", {"gpu": name})
        assert (known.search_of(TASK, told, here) is not None) is is_known
        assert (known.chapter(TASK, told, here) is not None) is is_known
