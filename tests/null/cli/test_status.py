"""The searches of an archive that have not ended, as another terminal sees them."""

import json

from click.testing import CliRunner
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.cli import main
from kernelwright.core.settings import Settings


def test_a_search_is_seen_while_it_lasts_and_not_after_it(tmp_path, capfd):
    where = str(tmp_path / "a.sqlite")
    with Archive(where) as archive:
        archive.add_task(TASK, [WORKLOAD])
        ended, runs_on = (archive.start_run(TASK, Settings(archive=where)) for _ in range(2))
        archive.finish_run(ended)
        said = proposal()
        archive.add_proposal(runs_on, said)
        archive.add_evaluation(runs_on, verdict(said.candidate))
        CliRunner().invoke(main, ["status", "--archive", where, "--json"])
        [seen] = json.loads(capfd.readouterr().out)["searches"]
        assert (seen["run"], seen["task"], seen["verdicts"]) == (runs_on, TASK.name, 1)
        assert not seen["was_cut_off"]
        archive.finish_run(runs_on)
    shown = CliRunner().invoke(main, ["status", "--archive", where])
    assert "holds 0 trials and 1 verdicts" in shown.stdout
    assert shown.exit_code == 0 and "no search is going on" in shown.stdout
