"""One source of a tree as a verified pair, or the reason why it is not one."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.dialects import nvidia
from kernelwright.dialects.amdgpu import assemble_hip
from kernelwright.hipify import State
from kernelwright.port.corpus.provenance import Provenance
from kernelwright.port.ladder import RungStatus
from kernelwright.port.project import PortOptions, port_with
from kernelwright.port.ptx import PtxOptions, port_ptx
from kernelwright.port.report import PortedFile, PortReport

MAX_BYTES = 1 << 20  # longer sources are generated
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_KERNEL = re.compile(r"__global__[^;{(]*?(\w+)\s*\(")


@dataclass(frozen=True)
class Reject:
    """A source that did not become a pair."""

    path: str
    stage: str
    """'read', 'licence', 'duplicate', 'lint', 'compile', 'emulate' or 'fault'."""
    reason: str


@dataclass(frozen=True)
class Header:
    """A header of the tree that a source includes, on both sides."""

    path: str
    cuda: str
    hip: str


@dataclass(frozen=True)
class Assembly:
    """The device code of a source for one architecture."""

    arch: str
    kind: str
    """'ptx', 'sass' or 'amdgcn'."""
    text: str


@dataclass(frozen=True)
class PortPair:
    """A CUDA source and its HIP port, checked as far as ``verified`` says."""

    path: str
    origin: str
    commit: str
    licence: str
    licence_source: str
    cuda: str
    hip: str
    headers: tuple[Header, ...]
    kernels: tuple[str, ...]
    n_translated: int
    n_repaired: int
    n_changed: int
    notes: tuple[str, ...]
    """The translator's reasons for its repairs and changes."""
    verified: str
    """The highest rung that passed: 'compile', or 'emulate' (it ran on the CPU like the
    original)."""
    not_checked: str
    """Why the emulation could not check it; empty if it did."""
    targets: tuple[str, ...]
    resources: tuple[dict[str, object], ...]
    """Registers, LDS, scratch and spills by kernel and target."""
    assembly: tuple[Assembly, ...]
    ptx_hip: str
    """The HIP that the PTX among the assembly was translated to; empty if there is none, if not all
    of it was translated, or if the HIP failed a rung."""
    ptx_verified: str
    """The highest rung that this HIP passed: 'compile' or 'emulate'; empty if there is no HIP."""


@dataclass(frozen=True)
class Sources:
    """A source and the headers of its tree that it includes, to be checked on any machine."""

    name: str
    """The source's path in the tree."""
    files: Mapping[str, bytes]
    """The contents of all of them, by path in the tree."""
    origin: Provenance

    @property
    def text(self) -> str:
        return self.files[self.name].decode(errors="replace")


def make_pair(sources: Sources, *, targets: Sequence[str], emulate: bool) -> PortPair | Reject:
    """Translate and check a source with its headers.

    A bad file never raises: its fault becomes its rejection.
    """
    name, origin = sources.name, sources.origin
    if len(sources.files[name]) > MAX_BYTES:
        return Reject(name, "read", f"longer than {MAX_BYTES} bytes")
    rungs = (0, 1, 2) if emulate else (0, 1)
    with tempfile.TemporaryDirectory() as folder:
        alone, out = Path(folder, "cuda"), Path(folder, "hip")
        for place, content in sources.files.items():
            Path(alone, place).parent.mkdir(parents=True, exist_ok=True)
            Path(alone, place).write_bytes(content)
        headers = sorted(sources.files.keys() - {name})
        try:
            options = PortOptions(targets=tuple(targets), rungs=rungs, has_one_header=False)
            report = port_with(alone, options, out=out)
            return _pair(name, report, origin, alone, headers)
        except KernelwrightError as error:
            return Reject(name, "read", f"{error.what}; {error.seen}")
        except (RecursionError, UnicodeError) as error:  # from a parser that met unexpected input
            return Reject(name, "fault", f"{type(error).__name__}: {error}"[:300])


def read_sources(path: Path, tree: Path, origin: Provenance) -> Sources:
    """Read a source and the headers of its tree that it includes, headers of headers too.

    Raises:
        OSError: one of them cannot be read.
    """
    waiting, found = [path.resolve()], dict[str, bytes]()
    root = tree.resolve()
    while waiting:
        file = waiting.pop()
        place = str(file.relative_to(root))
        if place in found:
            continue
        found[place] = file.read_bytes()
        for named in _INCLUDE.findall(found[place].decode(errors="replace")):
            included = (file.parent / named).resolve()
            if included.is_file() and included.is_relative_to(root):
                waiting.append(included)
    return Sources(str(path.relative_to(tree)), found, origin)


def _pair(
    name: str, report: PortReport, origin: Provenance, alone: Path, headers: list[str]
) -> PortPair | Reject:
    files = {file.path: file for file in report.files}
    main = files[name]
    if bad := _refused(name, report.files):
        return bad
    rungs = {rung.name: rung for rung in main.rungs}
    emulated = rungs.get("emulate")
    is_run = emulated is not None and emulated.status is RungStatus.PASSED
    why = "; ".join(emulated.details)[:300] if emulated is not None and not is_run else ""
    cuda = (alone / name).read_text(errors="replace")
    notes = [f for file in report.files for f in file.translation.findings]
    states = (State.REPAIRED, State.CHANGED)
    assembly = _assembly(alone / name, Path(main.written), report.targets)
    ptx_hip, ptx_verified = hip_of_ptx(assembly, alone / name, report.targets, is_run)
    return PortPair(
        path=name,
        **asdict(origin),
        cuda=cuda,
        hip=main.translation.text,
        headers=tuple(_header(path, alone, files) for path in headers),
        kernels=tuple(dict.fromkeys(_KERNEL.findall(cuda))),
        n_translated=sum(f.state is State.TRANSLATED for f in notes),
        n_repaired=sum(f.state is State.REPAIRED for f in notes),
        n_changed=sum(f.state is State.CHANGED for f in notes),
        notes=tuple(str(f) for f in notes if f.state in states),
        verified="emulate" if is_run else "compile",
        not_checked="" if is_run else why or "no main function, or not asked for",
        targets=report.targets,
        resources=tuple({"target": t, **vars(r)} for t, r in rungs["compile"].resources),
        assembly=assembly,
        ptx_hip=ptx_hip,
        ptx_verified=ptx_verified,
    )


def _refused(name: str, files: Sequence[PortedFile]) -> Reject | None:
    """Return why this port is not a pair: the first rung that one of its files did not pass."""
    for file in files:
        for rung in file.rungs:
            is_optional = rung.name == "emulate" and rung.status in (
                RungStatus.NOT_CHECKED,
                RungStatus.RAN,
            )
            if rung.status is not RungStatus.PASSED and not is_optional:
                said = "; ".join(rung.details[:3]) or str(rung.status)
                return Reject(name, rung.name, f"{rung.status}: {said}"[:1000])
    return None


def _header(path: str, alone: Path, files: dict[str, PortedFile]) -> Header:
    cuda = (alone / path).read_text(errors="replace")
    return Header(path, cuda, files[path].translation.text if path in files else cuda)


def _assembly(cuda: Path, hip: Path, targets: Sequence[str]) -> tuple[Assembly, ...]:
    found = [
        Assembly(nvidia.ARCH, kind, text)
        for kind, text in nvidia.assembly(cuda, includes=(cuda.parent,))
    ]
    for target in targets:
        text = assemble_hip(hip, target=target, includes=(hip.parent,))
        found += [Assembly(target, "amdgcn", text)] if text else []
    return tuple(found)


def hip_of_ptx(
    assembly: Sequence[Assembly], cuda: Path, targets: Sequence[str], is_run: bool
) -> tuple[str, str]:
    """Return the HIP of a source's PTX and the highest rung that it passed; empty if it fails one.

    A source that has run is the host of the translated kernels.
    """
    text = next((each.text for each in assembly if each.kind == "ptx"), "")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"{cuda.stem}.ptx")
        source.write_text(text)
        host, rungs = (cuda, (0, 1, 2)) if is_run else (None, (0, 1))
        try:
            (file,) = port_ptx(source, PtxOptions(tuple(targets), rungs, host)).files
        except UsageError:  # there are no kernels in it
            return "", ""
    passed = {rung.name for rung in file.rungs if rung.status is RungStatus.PASSED}
    is_failed = any(rung.status is RungStatus.FAILED for rung in file.rungs)
    if is_failed or not {"lint", "compile"} <= passed:
        return "", ""
    return file.translation.text, "emulate" if "emulate" in passed else "compile"
