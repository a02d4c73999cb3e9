"""show, report and doctor on a real archive: stdout and the exit code."""

import io
import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.cli import doctor, main
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.sqlite"
    winner, loser = proposal(lineage=("fuse",)), proposal("class ModelNew: slow = 1")
    with Archive(path) as opened:
        opened.add_task(TASK, [WORKLOAD])
        run = opened.start_run(TASK, Settings())
        for said, status in ((winner, Status.PASSED), (loser, Status.WRONG_VALUES)):
            opened.add_proposal(run, said)
            opened.add_evaluation(run, verdict(said.candidate, status, kinds=("kernel",)))
    return path


def test_show_best_prints_the_source_and_nothing_else(run, archive):
    code, out, err = run("show", "best", "--archive", archive)
    assert (code, out, err) == (0, proposal().candidate.source + "\n", "")


def test_show_best_ignores_verdicts_of_an_older_judge(ask, archive):
    old, new = proposal(lineage=("fuse",)), proposal("class ModelNew: fast = 1")
    with Archive(archive) as opened:
        run = opened.start_run(TASK, Settings())
        opened.add_proposal(run, new)
        opened.add_evaluation(run, verdict(new.candidate, Status.WRONG_VALUES, judge_version=2))
    assert ask("show", "best", "--archive", archive) == (1, {"best": None, "task": TASK.digest})
    with Archive(archive) as opened:
        opened.add_evaluation(run, verdict(old.candidate, judge_version=2))
    assert ask("show", "best", "--archive", archive)[1]["source"] == old.candidate.source


def test_characters_that_stdout_cannot_encode_are_escaped(archive, tmp_path, monkeypatch):
    said = proposal("class ModelNew: ...  # \N{SNOWMAN}")
    with Archive(archive) as opened:
        opened.add_proposal(opened.start_run(TASK, Settings()), said)
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", stdout)
    with pytest.raises(SystemExit) as left:
        main.main(["show", said.candidate.digest, "--archive", str(archive)])
    assert left.value.code == 0
    assert stdout.buffer.getvalue() == b"class ModelNew: ...  # \\u2603\n"


def test_lessons_do_not_print_the_password_of_their_archive(ask, archive, monkeypatch):
    monkeypatch.setattr("kernelwright.cli.commands.lessons.lessons", lambda *_, **__: iter(()))
    url = f"sqlite://me:hunter2@/{archive}"
    code, answer = ask("tasks", "lessons", "--count", "1", "--archive", url)
    assert code == 1 and answer["archive"] == f"sqlite://me:***@/{archive}"


def test_show_finds_a_candidate_by_the_beginning_of_its_digest(ask, archive):
    wanted = proposal("class ModelNew: slow = 1").candidate
    code, answer = ask("show", wanted.digest[:12], "--archive", archive)
    assert code == 0 and answer["source"] == wanted.source
    assert answer["evaluations"][0]["status"] == "wrong_values"


def test_show_best_where_nothing_won(ask, tmp_path):
    path = tmp_path / "archive.sqlite"
    with Archive(path) as opened:
        opened.add_task(TASK)
        opened.start_run(TASK, Settings())
    assert ask("show", "best", "--archive", path) == (1, {"best": None, "task": TASK.digest})


def test_report_is_written_beside_the_archive_or_to_the_given_path(ask, archive, tmp_path):
    code, answer = ask("report", archive)
    assert code == 0 and answer["report"] == str(tmp_path / "report.html")
    code, answer = ask("report", tmp_path, "--out", tmp_path / "new" / "page.html")
    assert code == 0 and os.path.exists(answer["report"])


def test_the_archive_may_be_named_in_the_settings_file(run, archive, tmp_path):
    (tmp_path / "kernelwright.toml").write_text(f'archive = "{archive}"\n')
    assert run("show", "best")[0] == 0


def test_json_is_alone_on_stdout_even_if_other_code_prints(run, monkeypatch):
    def examine():
        print("a task that prints")
        os.write(1, b"a library that writes to the descriptor\n")
        os.system("echo a child that echoes")
        return []

    monkeypatch.setattr("kernelwright.cli.doctor.examine", examine)
    code, out, err = run("doctor", "--json")
    assert code == 0 and json.loads(out) == {}
    assert "prints" in err and "descriptor" in err and "echoes" in err


def test_json_has_no_nan_or_infinity(run, monkeypatch):
    monkeypatch.setattr("kernelwright.cli.doctor.as_facts", lambda findings: {"x": [float("inf")]})
    assert run("doctor", "--json")[1] == '{"x": [null]}\n'


def test_doctor_says_for_each_missing_thing_what_it_costs_and_how_to_get_it(run, ask):
    code, answer = ask("doctor")
    assert code == 0
    assert answer.keys() == {"machine", "devices", "dialects", "packages", "ports", "isolation"}
    findings = doctor.examine()
    missing = [finding for finding in findings if finding.state == doctor.MISSING]
    assert all(finding.cost and finding.remedy for finding in missing)
    assert any(finding.name == "torch on cpu" and finding.state == "ok" for finding in findings)
    code, out, _ = run("doctor")
    assert code == 0 and all(finding.name in out for finding in findings)


def test_doctor_says_how_far_ports_can_be_checked(ask, monkeypatch):
    monkeypatch.setattr("kernelwright.dialects.amdgpu.compile_missing", lambda: "get clang 20")
    monkeypatch.setattr("kernelwright.dialects.simt.machine.emulation_missing", lambda: None)
    rungs = {found["name"]: found for found in ask("doctor")[1]["ports"]}
    assert list(rungs) == ["1 compile", "of SASS", "2 emulate", "3 nvidia", "4 amd", "5 isa"]
    assert rungs["1 compile"]["remedy"] == "get clang 20" and rungs["1 compile"]["cost"]
    assert rungs["2 emulate"]["state"] == "ok"


def test_version_and_help(run):
    code, out, _ = run("--version")
    assert code == 0 and out.startswith("kernelwright, version ")
    assert run("--help")[:2] == run()[:2]


@pytest.fixture
def elsewhere(monkeypatch):
    """Make Python report a system other than Linux, without Linux's facilities."""
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    for name in ("sched_getaffinity", "sched_setaffinity", "memfd_create", "pidfd_open"):
        monkeypatch.delattr(f"os.{name}")


@pytest.mark.parametrize("words", [("judge", "task.py", "task.py"), ("optimize", "task.py")])
def test_without_linux_isolation_there_is_one_error(task, ask, elsewhere, words):
    code, answer = ask(*words)
    assert code == 3
    assert answer["error"]["seen"] == "Darwin" and "Linux" in answer["error"]["do"]


def test_the_doctor_examines_other_systems_too(ask, elsewhere):
    code, answer = ask("doctor")
    found = answer["isolation"]
    assert code == 0 and found
    assert all(one["state"] == "missing" and "Linux" in one["remedy"] for one in found)


def test_the_doctor_names_the_extra_that_brings_each_optional_package():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = {
        re.match(r"[\w-]+", wanted)[0]: extra
        for extra, packages in project["optional-dependencies"].items()
        for wanted in packages
        if extra != "test"
    }
    assert {name: extra for name, (extra, _) in doctor.EXTRAS.items()} == extras
    found = {one.name: one for one in doctor.examine() if one.area == "packages"}
    assert extras.keys() <= found.keys()
    missing = {name: one for name, one in found.items() if one.state == doctor.MISSING}
    assert all(f"kernelwright[{extras[name]}]" in one.remedy for name, one in missing.items())


def test_the_doctor_names_what_forbids_user_namespaces_on_each_system(monkeypatch):
    monkeypatch.setattr(doctor, "_granted", lambda: (frozenset(), "EPERM"))
    for found in doctor._isolation():
        for name in ("unprivileged_userns_clone", "apparmor_restrict_unprivileged_userns"):
            assert f"sysctl kernel.{name}=" in found.remedy
