"""Archives of before open: each is made by the migrations that there were, row by row."""

import json
import sqlite3
from contextlib import closing

from alembic import command
from alembic.config import Config
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive, rows
from kernelwright.archive.connect import connect, parse
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode

WRONG = "on negated inputs: the output is off by 0.5 of its row's largest value"
OWN_WORDS = "run: RuntimeError: out of memory (line 3)"


def made_at(path, revision):
    """An empty archive as the version that had this revision made it."""
    config = Config()
    config.set_main_option("script_location", "kernelwright.archive:migrations")
    engine = connect(parse(path), create=True)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def put(database, table, **values):
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    packed = [
        json.dumps(value) if isinstance(value, (list, tuple, dict)) else value
        for value in values.values()
    ]
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", packed)


def put_verdicts(path, told):
    """Untimed verdicts with these statuses, reasons and warnings, as rows of before."""
    said, found = proposal(), verdict(proposal().candidate)
    with closing(sqlite3.connect(path)) as database:
        for name, noun in (
            ("task", TASK),
            ("workload", WORKLOAD),
            ("candidate", said.candidate),
            ("environment", found.environment),
        ):
            put(database, name, **rows.from_content(noun))
        run = {"id": "r1", "task": TASK.digest, "settings": "{}", "version": "0"}
        put(database, "run", **run, started_at="2026-01-01")
        put(
            database,
            "proposal",
            run="r1",
            **rows.from_proposal(said),
            created_at="2026-01-01",
        )
        for status, reasons, warnings in told:
            columns = rows.from_evaluation(found) | {"strongest": None, "clock": None}
            columns |= {"cache": None, "status": status, "reasons": reasons, "warnings": warnings}
            del columns["conditions"], columns["windows"]
            put(database, "evaluation", run="r1", **columns, created_at="2026-01-01")
        database.commit()


def test_texts_of_before_the_codes_get_codes_and_stay_whole(path):
    made_at(path, "m005")
    put_verdicts(
        path,
        [
            ("passed", [], ["degenerate task: output 0 is constant", "said by nobody"]),
            ("wrong_values", [WRONG], []),
            ("runtime_error", [OWN_WORDS], []),
            ("infra_error", ["CUDA error: unknown \ud800"], []),
        ],
    )
    with Archive(path) as archive:
        passed, *others = archive.evaluations()
    assert passed.warnings == (
        Warned(WarningCode.DEGENERATE_TASK, "degenerate task: output 0 is constant"),
        Warned(WarningCode.UNCLASSIFIED, "said by nobody"),
    )
    assert [found.reasons for found in others] == [
        (Reason(ReasonCode.OUTPUT_VALUES, WRONG),),
        (Reason(ReasonCode.RAISED, OWN_WORDS),),
        (Reason(ReasonCode.UNCLASSIFIED, "CUDA error: unknown \ud800"),),
    ]
    assert others[0].status is Status.WRONG_VALUES


def test_more_verdicts_than_one_batch_are_migrated(path):
    made_at(path, "m005")
    put_verdicts(path, [("wrong_values", [WRONG], [])] * 2100)
    with Archive(path) as archive:
        codes = {reason.code for found in archive.evaluations() for reason in found.reasons}
    assert codes == {ReasonCode.OUTPUT_VALUES}


def test_an_archive_of_before_the_conditions_says_nothing_of_them(path):
    made_at(path, "m004")
    put_verdicts(path, [("passed", [], [])])
    with Archive(path) as archive:
        (kept,) = archive.evaluations()
    assert kept.conditions is None


def test_samples_of_before_are_the_same_in_one_row(path):
    """Each had a row of its own."""
    made_at(path, "m009")
    put_verdicts(path, [("passed", [], [])])
    with closing(sqlite3.connect(path)) as database:
        put(database, "proposal", run="r1", **rows.from_proposal(proposal()), created_at="2026")
        database.execute(
            "UPDATE evaluation SET strongest = 'eager', clock = 'parent', cache = 'cold'"
        )
        samples = {"candidate": (10, 9, 8), "eager": (20, None, 22)}
        for series, times in samples.items():
            for number, ns in enumerate(times):
                put(database, "timing", evaluation=1, series=series, round=number, ns=ns)
        database.commit()
    with Archive(path) as archive:
        (kept,) = archive.evaluations()
    assert kept.timing is not None and kept.timing.samples_ns == samples
