"""The HTTP interface of a service, and its page."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Request, status
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from kernelwright.service.jobs import Asked, Job
from kernelwright.service.users import LOCAL, Caller, Users
from kernelwright.service.work import BEST, RECEIPT, Service, archived, settings_of

MOST_CHARACTERS = 1_000_000
REPORT = "report.html"
PAGE_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
_BEARER = HTTPBearer(auto_error=False, description="A token of the users' file.")


class TaskAsked(BaseModel):
    """A task, as the text of a file in KernelBench's format."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern=r"^[\w.-]{1,80}$")
    task: str = Field(max_length=MOST_CHARACTERS)


class SearchAsked(TaskAsked):
    """A search for a faster kernel."""

    budget_s: float | None = Field(None, gt=0, le=3600)
    dialects: tuple[str, ...] = ()


class VerdictAsked(TaskAsked):
    """A verdict on a kernel for a task."""

    candidate: str = Field(max_length=MOST_CHARACTERS)
    entry: str = Field("ModelNew", pattern=r"^[A-Za-z_]\w{0,80}$")


def application(service: Service, users: Users | None) -> FastAPI:
    """The application of a service; without ``users`` everybody may do everything."""
    app = FastAPI(title="kernelwright", docs_url=None, redoc_url=None)
    app.state.service, app.state.users = service, users
    app.add_api_route("/v1/searches", ask_search, methods=["POST"], status_code=202)
    app.add_api_route("/v1/verdicts", ask_verdict, methods=["POST"], status_code=202)
    app.add_api_route("/v1/jobs", list_jobs)
    app.add_api_route("/v1/jobs/{number}", show_job)
    app.add_api_route("/v1/jobs/{number}/{name}", send_file)
    app.add_api_route("/", page, response_class=HTMLResponse, include_in_schema=False)
    app.add_api_route("/page/{name}", page_part, include_in_schema=False)
    return app


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _caller(
    request: Request,
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
) -> Caller:
    """Whom the request is from; 401 without a token that the users' file knows."""
    users: Users | None = request.app.state.users
    if users is None:
        return LOCAL
    caller = users.of(given.credentials) if given else None
    if caller is None:
        raise HTTPException(
            status.HTTP_401_UNAUTHORIZED,
            "give a token: Authorization: Bearer TOKEN",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return caller


Serving = Annotated[Service, Depends(_service)]
Calling = Annotated[Caller, Depends(_caller)]


def ask_search(asked: SearchAsked, service: Serving, caller: Calling) -> dict[str, Any]:
    """Ask for a search; the answer is the job, which is done if the archive has the result."""
    if not caller.user.may_search:
        raise HTTPException(
            status.HTTP_403_FORBIDDEN,
            "a task's text runs with the server's rights: ask for may_search in the users' file",
        )
    return _add(Asked(**asked.model_dump()), service, caller)


def ask_verdict(asked: VerdictAsked, service: Serving, caller: Calling) -> dict[str, Any]:
    """Ask for a verdict on a kernel.

    Who may not search may have kernels judged on tasks that the archive holds.
    """
    new = Asked(**asked.model_dump())
    if not caller.user.may_search and not service.knows_task(new):
        raise HTTPException(
            status.HTTP_403_FORBIDDEN,
            "the archive has no such task, and a task's text runs with the server's rights: ask "
            "for may_search in the users' file",
        )
    return _add(new, service, caller)


def _add(asked: Asked, service: Service, caller: Caller) -> dict[str, Any]:
    settings = settings_of(asked, service.settings)
    found = archived(asked, settings, service.here)
    n_open = sum(job.is_open for job in service.jobs.all(caller.name))
    if found is None and n_open >= caller.user.most_jobs:
        raise HTTPException(
            status.HTTP_429_TOO_MANY_REQUESTS,
            f"{caller.name} has {n_open} jobs that wait or run, of {caller.user.most_jobs}: wait "
            "for one of them",
        )
    job = service.jobs.add(caller.name, asked, found.result if found else None)
    if found and found.source:
        (service.jobs.folder_of(job) / BEST).write_text(found.source)
    return _facts(job, service)


def list_jobs(service: Serving, caller: Calling) -> list[dict[str, Any]]:
    """The caller's jobs, the newest first, without their texts."""
    return [_facts(job, service) for job in service.jobs.all(caller.name)]


def show_job(number: str, service: Serving, caller: Calling) -> dict[str, Any]:
    """A job and how far it is."""
    return _facts(_job(number, service, caller), service)


def send_file(number: str, name: str, service: Serving, caller: Calling) -> FileResponse:
    """A file of a job that is done: best.py, receipt.json or report.html."""
    job = _job(number, service, caller)
    path = _files(job, service).get(name)
    if path is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"the job has no {name}")
    return FileResponse(path)


def _job(number: str, service: Service, caller: Caller) -> Job:
    job = service.jobs.get(number)
    if job is None or job.user != caller.name:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"{caller.name} has no job {number}")
    return job


def _files(job: Job, service: Service) -> dict[str, Path]:
    """The files of a job that can be fetched, by the names under which they are."""
    folder = service.jobs.folder_of(job)
    named = {BEST: BEST, RECEIPT: RECEIPT, REPORT: f"{job.asked.name}.html"}
    found = {name: folder / file for name, file in named.items()}
    return {name: path for name, path in found.items() if path.is_file()}


def _facts(job: Job, service: Service) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(job)
    asked = facts.pop("asked")
    kind = "search" if job.asked.candidate is None else "verdict"
    return {"kind": kind, "name": asked["name"], **facts, "files": [*_files(job, service)]}


def page() -> HTMLResponse:
    """The page with the caller's jobs."""
    text = (files("kernelwright.service") / "page" / "index.html").read_text()
    return HTMLResponse(text, headers={"Content-Security-Policy": PAGE_POLICY})


def page_part(name: str) -> FileResponse:
    """The page's script or its style."""
    if name not in ("jobs.js", "jobs.css"):
        raise HTTPException(status.HTTP_404_NOT_FOUND, "no such file")
    return FileResponse(str(files("kernelwright.service") / "page" / name))
