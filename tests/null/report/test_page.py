"""The page is whole, opens offline, and no stranger's text becomes part of it."""

import base64
import hashlib
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from importlib import resources

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, reason, verdict, warned

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import ArchiveError
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Status, Warned, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.core.trial import Trial, TrialOutcome
from kernelwright.core.use import Use
from kernelwright.report.page import SCRIPT, write

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
    assert not reader.tags & {"img", "iframe", "object", "link", "base", "form"}
    assert re.findall("<script>(.*?)</script>", text, re.DOTALL) == [SCRIPT]
    assert text.count("<script") == 1, "the page's policy allows no other"
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
    for part in (
        "fuse chain",
        "tile 64",
        "error against float64",
        "a 2-core machine",
        "2 kinds of inputs",
    ):
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


def test_the_only_script_is_allowed_by_its_digest(archive, tmp_path):
    fill(archive, TASK, [fast(proposal())])
    text = page(archive, tmp_path)
    (allowed,) = re.findall("script-src 'sha256-(.*?)'", text)
    digest = hashlib.sha256(re.findall("<script>(.*?)</script>", text, re.DOTALL)[0].encode())
    assert base64.b64encode(digest.digest()).decode() == allowed


def test_every_box_that_scrolls_is_reached_by_the_keyboard(archive, tmp_path):
    fill(archive, TASK, [fast(proposal())])
    fill(archive, Task("other", "builtin", "class Model: pass"), [slow(proposal("slow"))])
    text = page(archive, tmp_path)
    templates = (resources.files("kernelwright.report") / "templates").iterdir()
    text += "".join(one.read_text() for one in templates if one.name.endswith(".j2"))
    boxes = re.findall(r'<div class="(?:wide|wide tall|box)"[^>]*>', text)
    assert len(boxes) > 12
    for box in boxes:
        assert 'tabindex="0"' in box and 'role="region"' in box and "aria-label=" in box


def test_an_undecided_search_is_called_so_wherever_the_page_speaks_of_it(archive, tmp_path):
    said = proposal()
    samples = {"candidate": (10, 12, 20), "eager": (20, 22, 24), "compile": (15, 14, 16)}
    found = verdict(said.candidate)
    wide = replace(found, timing=replace(found.timing, samples_ns=samples))
    fill(archive, TASK, [(said, wide)])
    fill(archive, Task("other", "builtin", "class Model: pass"), [slow(proposal("slow"))])
    shown = " ".join(Reader(page(archive, tmp_path)).text.split())
    sentence = "undecided: the most promising candidate is 1.17 (0.80–1.50) times as fast"
    assert shown.count(sentence) == 2, "in the chapter's summary and in its head"
    assert "1undecided" in shown and "undecided: too wide an interval to tell it from" in shown
    assert "library stays best" in shown and shown.count("library stays best") == 2


def test_a_suite_without_wins_does_not_look_like_one(archive, tmp_path):
    fill(archive, TASK, [slow(proposal())])
    fill(archive, Task("other", "builtin", "class Model: pass"), [slow(proposal("slow"))])
    text = page(archive, tmp_path)
    shown = " ".join(Reader(text).text.split())
    assert "no task won" in shown and "0 of 2" in shown
    assert 'class="tile head won"' not in text and "1.00 ×" not in shown


def test_the_winners_file_and_the_library_setting_that_is_handed_back_are_named(archive, tmp_path):
    said, found = fast(proposal())
    archive.add_task(TASK, [WORKLOAD])
    run = archive.start_run(TASK, Settings())
    archive.add_proposal(run, said)
    archive.add_evaluation(run, found)
    path = f"out/relu-cpp-{said.candidate.digest.removeprefix('b2:')[:10]}.py"
    archive.finish_run(run, {"device": "cpu", "environment": {}, "source": path})
    text = page(archive, tmp_path)
    (named,) = re.findall(rf'<code id="(path-[^"]+)">{re.escape(path)}</code>', text)
    assert f'data-copies="{named}"' in text and 'data-copies="source-' in text
    other = Task("other", "builtin", "class Model: pass")
    fill(archive, other, [slow(proposal("slow"))])
    alone = " ".join(Reader(page(archive, tmp_path, task=other.digest)).text.split())
    assert "The result is the library setting compile, as it is" in alone


def test_the_winner_in_use_is_told_in_a_line(archive, tmp_path):
    said = proposal()
    fill(archive, TASK, [fast(said)])
    run = archive.start_run(TASK, Settings())
    path = f"out/{said.candidate.digest.removeprefix('b2:')[:10]}.py"
    archive.finish_run(run, {"device": "cpu", "environment": {}, "source": path})
    assert "in use" not in Reader(page(archive, tmp_path)).text
    uses = [Use("a call", "served"), Use("backward", "missed", "gradients"), Use("vmap", "wrong")]
    archive.add_to_end(TASK.digest, uses=[*map(asdict, [*uses, Use("make_fx", "untried")])])
    text = Reader(page(archive, tmp_path)).text
    assert "in use: served in 1 of 3 ways; WRONG: vmap; by the module's own forward: back" in text
    assert "no time for: make_fx" in text


def test_the_search_shows_its_trials_its_knobs_and_the_roofline(archive, tmp_path):
    said, found = fast(proposal())
    archive.add_task(TASK, [WORKLOAD])
    run = archive.start_run(TASK, Settings())
    schedules = ({"tile": 32, "unroll": 1}, {"tile": 64, "unroll": 1}, {"tile": 64, "unroll": 2})
    trials = [
        Trial(f"t{n}", "cpp", TrialOutcome.MEASURED, {"kernels": {"relu": knobs}}, "", ns, 40.0, 9)
        for n, (knobs, ns) in enumerate(zip(schedules, (40.0, 20.0, 10.0), strict=True))
    ]
    archive.add_trials(run, found.environment, 1, trials)
    archive.add_proposal(run, said)
    archive.add_evaluation(run, found)
    ended = {"moved_bytes": 100, "copied_bytes_per_s": 2e10, "flops": 200}
    archive.finish_run(run, {"device": "cpu", "environment": {}, **ended})
    shown = " ".join(Reader(page(archive, tmp_path)).text.split())
    assert "The 3 candidates that the tuner tried" in shown
    cells = re.sub(r"\s*<[^>]*>\s*", "|", page(archive, tmp_path))
    assert re.search(r"relu: tile\|+2\|+64\|+4\.00 ×\|+4\.00 ×", cells)
    assert re.search(r"relu: unroll\|+2\|+2\|+2\.00 ×\|+2\.00 ×", cells)
    assert re.search(r"the kernel\|+9\.09 GB/s\|+45 %", cells)
    assert "with 2 operations a byte" in shown
    assert "Beyond it" not in shown


def test_a_win_with_the_errors_of_tf32_is_marked_and_left_out_of_a_mean(archive, tmp_path):
    marked = (Warned(WarningCode.TF32, "errors as TF32 has"),)
    fill(archive, TASK, [fast(proposal(), warnings=marked)])
    fill(archive, Task("other", "builtin", "class Model: pass"), [slow(proposal("slow"))])
    shown = " ".join(Reader(page(archive, tmp_path)).text.split())
    assert "kernel tf32" in shown and "1.00 ×mean without tf32: with the 1 wins set to 1" in shown


def test_a_page_of_many_tasks_shows_those_that_were_run_last(archive, tmp_path):
    for number in range(3):
        noun = proposal(f"class ModelNew: n = {number}")
        fill(
            archive,
            Task(f"task{number}", "folder", f"n = {number}"),
            [(noun, verdict(noun.candidate))],
        )
    shown = page(archive, tmp_path, most_tasks=2)
    assert "task0" not in shown and "task1" in shown and "task2" in shown
    assert "not shown: 1;" in shown
