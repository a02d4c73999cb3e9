"""The page is whole, opens offline, and no stranger's text becomes part of it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, reason, verdict, warned

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import ArchiveError
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.report.page import write

HOSTILE = "</script></pre></style><img src=x onerror=alert(1)>{{ 7 * 7 }}<!-- &lt; $x^2$ \x1b[31m"
VOID = {"meta", "br", "img", "link", "input", "hr"}


@pytest.fixture
def archive(tmp_path):
    with Archive(tmp_path / "archive.sqlite") as opened:
        yield opened


def fill(archive, task, pairs):
    workload = Workload(task.digest, WORKLOAD.shapes)
    archive.add_task(task, [workload])
    run = archive.start_run(task, Settings())
    for said, found in pairs:
        archive.add_proposal(run, said)
        found = replace(found, task=task.digest, workload=workload.digest)
        archive.add_evaluation(run, found)
    archive.finish_run(run)


def page(archive, tmp_path, **arguments):
    return write(archive, tmp_path / "page.html", **arguments).read_text()


class Reader(HTMLParser):
    """Collects the page's elements and visible text, and checks that elements nest."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = set(), [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def fast(said, **found):
    return said, verdict(said.candidate, kinds=("kernel",), **found)


def slow(said):
    timing = verdict(said.candidate).timing
    samples = timing.samples_ns | {"candidate": (40, 41, 42)}
    return said, verdict(said.candidate, timing=replace(timing, samples_ns=samples))


def test_text_of_strangers_is_shown_and_never_obeyed(archive, tmp_path):
    task = Task(HOSTILE, HOSTILE, f"# {HOSTILE}\nclass Model: ...")
    winner = Proposal(
        Candidate(f'x = "{HOSTILE}"\n', "cpp"),
        HOSTILE,
        lineage=(HOSTILE,),
        schedule={HOSTILE: HOSTILE},
        note=HOSTILE,
    )
    loser = Proposal(Candidate(HOSTILE, HOSTILE), HOSTILE)
    environment = Environment("cpu", {"processor": HOSTILE})
    _, found = fast(
        winner, warnings=(warned(HOSTILE),), environment=environment, guarantees=(HOSTILE,)
    )
    _, refused = (
        loser,
        verdict(
            loser.candidate, Status.REJECTED, reasons=(reason(HOSTILE),), environment=environment
        ),
    )
    fill(archive, task, [(winner, found), (loser, refused)])
    text = page(archive, tmp_path)
    reader = Reader(text)
    assert not reader.tags & {"script", "img", "iframe", "object", "link", "base", "form"}
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "src"]
    assert "onerror=alert(1)" in reader.text and "{{ 7 * 7 }}" in reader.text
    assert "\x1b" not in text


def test_nothing_is_fetched(archive, tmp_path):
    fill(archive, TASK, [fast(proposal())])
    text = page(archive, tmp_path)
    targets = [v for name, v in Reader(text).attributes if name.endswith("href")]
    assert all(target.startswith("#") for target in targets)
    assert not re.search(r"url\((?!#)|@import", text)
    beyond = set(re.findall(r"https?://[\w./-]+", text))
    assert beyond <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "default-src 'none'" in text


def test_the_headline_names_the_baseline_and_the_interval(archive, tmp_path):
    fill(archive, TASK, [fast(proposal(lineage=("fuse chain",), schedule={"tile": 64}))])
    text = " ".join(Reader(page(archive, tmp_path)).text.split())
    assert "as fast as the strongest library setting, compile" in text
    speedup = verdict(proposal().candidate).speedup
    assert f"95 % interval {speedup.low:.2f} to {speedup.high:.2f}" in text
    for part in ("fuse chain", "tile 64", "error against float64", "a 2-core machine", "negated"):
        assert part in text
    assert proposal().candidate.source in text and TASK.source in text


def test_a_library_that_stays_best_is_said_plainly(archive, tmp_path):
    lost = slow(proposal())
    failed = proposal("bad")
    fill(archive, TASK, [lost, (failed, verdict(failed.candidate, Status.WRONG_VALUES))])
    text = " ".join(Reader(page(archive, tmp_path)).text.split())
    assert "nothing beats the strongest library setting (compile)" in text
    assert "slower than compile" in text and "element [3] is off by 0.5" in text


def test_an_archive_where_nothing_could_be_timed(archive, tmp_path):
    failed, machine = proposal("bad"), proposal("unlucky")
    pairs = [
        (failed, verdict(failed.candidate, Status.BUILD_ERROR, numerics=None)),
        (machine, verdict(machine.candidate, Status.INFRA_ERROR, numerics=None)),
    ]
    fill(archive, TASK, pairs)
    text = Reader(page(archive, tmp_path)).text
    assert "build_error" in text and "infra_error" in text


def test_several_tasks_begin_with_an_overview(archive, tmp_path):
    other = Task("other <task>", "builtin", "class Model: pass")
    fill(archive, TASK, [fast(proposal())])
    fill(archive, other, [slow(proposal("slow"))])
    text = page(archive, tmp_path)
    shown = " ".join(Reader(text).text.split())
    gain = verdict(proposal().candidate).speedup.median
    assert f"{gain**0.5:.2f} ×geometric mean" in shown
    assert "1 of 2tasks won" in shown and "library stays best" in shown
    for target in re.findall(r'href="#(t[^"]+)"', text):
        assert f'id="{target}"' in text
    alone = page(archive, tmp_path, task=other.digest)
    assert "geometric mean" not in alone and TASK.digest[3:13] not in alone


def test_devices_and_judges_are_not_mixed(archive, tmp_path):
    said, here = fast(proposal())
    gpu = replace(here, environment=Environment("cuda:sm_90", {}))
    fill(archive, TASK, [(said, here), (said, replace(here, judge_version=2)), (said, gpu)])
    text = Reader(page(archive, tmp_path)).text
    assert "on cuda:sm_90" in text and "1 verdicts of older judges are not shown" in text


def test_the_same_archive_gives_the_same_page(archive, tmp_path):
    fill(archive, TASK, [fast(proposal()), slow(proposal("slow"))])
    assert page(archive, tmp_path) == page(archive, tmp_path)


def test_nothing_judged_is_an_error(archive, tmp_path):
    with pytest.raises(ArchiveError, match="nothing to report"):
        write(archive, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_task_where_nothing_could_be_won_counts_in_the_mean(archive, tmp_path):
    won, idle = replace(TASK, name="won"), replace(TASK, name="idle", source="class Model: 1")
    fill(archive, won, [fast(proposal("b"))])
    archive.add_task(idle, [Workload(idle.digest, WORKLOAD.shapes)])
    archive.finish_run(archive.start_run(idle, Settings()), {"why": "eager copies at 104 %"})
    text = Reader(page(archive, tmp_path)).text
    gain = verdict(proposal("b").candidate, kinds=("kernel",)).speedup.median
    assert f"{gain**0.5:.2f} ×" in text and "1 of 2" in text
    assert "nothing was judged, counts 1: eager copies at 104 %" in text
    assert "Not finished" not in text


def test_a_search_that_was_cut_off_is_named_with_how_to_go_on(archive, tmp_path):
    begun, done = replace(TASK, name="begun"), replace(TASK, name="done", source="class Model: 1")
    never = replace(TASK, name="never judged", source="class Model: 2")
    for task in (begun, done):
        fill(archive, task, [fast(proposal())])
    archive.add_task(never, [Workload(never.digest, WORKLOAD.shapes)])
    for task in (begun, never):
        archive.start_run(task, Settings(device="cpu", budget_s=90.0))
    text = page(archive, tmp_path)
    (table,) = re.findall(r"<h2>Not finished.*?</table>", text, re.DOTALL)
    assert re.findall(r"<tr><td>(.*?)</td>", table) == ["begun", "never judged"]
    assert "verdicts so far: 1" in table and table.count("--device cpu --budget 90s") == 2
    assert "2 of 2" in Reader(text).text, "what was not judged is not counted"
    assert "Not finished" in page(archive, tmp_path, task=begun.digest)
    assert "Not finished" not in page(archive, tmp_path, task=done.digest)
    archive.finish_run(archive.start_run(begun, Settings(device="cpu", budget_s=90.0)))
    assert re.findall(r"Not finished.*?<tr><td>(.*?)</td>", page(archive, tmp_path), re.DOTALL) == [
        "never judged"
    ]
