"""``kernelwright serve``: searches and verdicts for a team, over HTTP."""

from __future__ import annotations

import importlib
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import click

from kernelwright.cli.options import ARCHIVE, JSON, WORKERS, field_options, workers_asked
from kernelwright.console import answers
from kernelwright.console.terminal import Answer
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings, load_settings, parse_seconds
from kernelwright.service.jobs import Jobs
from kernelwright.service.users import Users, new_row
from kernelwright.service.work import Service
from kernelwright.workers.opening import workers_for

OWN = ("127.0.0.1", "::1", "localhost")
FOLDER = "jobs"


@click.command("serve")
@click.option("--host", default=OWN[0], show_default=True, help="Listen to this address.")
@click.option(
    "--port",
    default=8642,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Listen to this port.",
)
@click.option(
    "--users",
    "users_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Let in the users of this file. Default: everybody, on this machine only.",
)
@click.option(
    "--new-token",
    metavar="NAME",
    help="Print a new token, and the row for the users' file; nothing is served.",
)
@field_options(Settings, "device", "precision", "max_autotune")
@click.option("--budget", "budget_s", metavar="TIME", help="Search for 60s (default), 5m, 1.5h.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Work on so many jobs at a time. Default: 1."
)
@WORKERS
@ARCHIVE
@click.option("--out", metavar="DIR", help="Keep jobs here. Default: kernelwright-out.")
@JSON
def command(
    host: str,
    port: int,
    users_file: Path | None,
    new_token: str | None,
    as_json: bool,
    **options: Any,
) -> Answer:
    """Serve searches and verdicts over HTTP, with a page that shows the jobs.

    POST a task to /v1/searches, or a task and a candidate to /v1/verdicts. What the archive knows
    is answered at once. Candidates run in the judge's sandbox; tasks run with the server's rights,
    so that only users with may_search bring new ones. A killed server goes on where it was.
    """
    if new_token is not None:
        token, row = new_row(new_token)
        return Answer({"token": token, "row": row}, answers.DONE, [f"token: {token}", "", row])
    if users_file is None and host not in OWN:
        raise UsageError(
            "a service that others reach needs users",
            seen=f"--host {host}, and no --users",
            do="make a file with `kernelwright serve --new-token NAME`, and give --users FILE",
        )
    users = None if users_file is None else Users(users_file)
    uvicorn, app = _web()
    given = {name: value for name, value in options.items() if value is not None}
    if "budget_s" in given:
        given["budget_s"] = parse_seconds(given["budget_s"])
    names = ("device", "precision", "max_autotune", "budget_s", "archive", "out")
    settings = load_settings(Path.cwd(), **{name: given[name] for name in names if name in given})
    workers = workers_for(settings.device, workers_asked(given), usual=1)
    jobs = Jobs(Path(settings.out, FOLDER))
    stop = partial(os.kill, os.getpid(), signal.SIGINT)  # as Ctrl-C does
    with workers, Service(jobs, settings, workers, on_lost=stop) as service:
        uvicorn.run(app.application(service, users), host=host, port=port, log_level="warning")
    if service.lost is not None:
        raise service.lost
    n_open = sum(job.is_open for job in jobs.all())
    return Answer({"waiting": n_open}, answers.DONE, [f"{n_open} jobs wait for the next start"])


def _web() -> tuple[Any, Any]:
    try:
        return (
            importlib.import_module("uvicorn"),
            importlib.import_module("kernelwright.service.app"),
        )
    except ImportError as error:
        raise UsageError(
            "a service needs FastAPI and uvicorn",
            seen=str(error),
            do="pip install 'kernelwright[serve]'",
        ) from error
