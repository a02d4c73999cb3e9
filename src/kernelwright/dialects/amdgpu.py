"""HIP compiled for AMD GPUs without an AMD machine: clang, HIP's headers, and the device libraries.

An installed ROCm is used if there is one. Otherwise the headers and the two large bitcode files
come from the ``triton`` wheel, and the small ones, of one constant each, are made here.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.dialects.kept import kept_folder

TARGETS = {
    "gfx90a": 9010, "gfx942": 9402, "gfx950": 9500,
    "gfx1100": 11000, "gfx1151": 11501, "gfx1201": 12001,
}  # fmt: skip
"""Targets and their ISA version number. Source: ROCm device-libs, oclc_isa_version_*.cl."""
NEWEST_CLANG, OLDEST_CLANG = 30, 17
SWITCHES = {
    "correctly_rounded_sqrt32": "correctly_rounded_sqrt", "daz_opt": "daz_opt",
    "finite_only_opt": "finite_only", "unsafe_math_opt": "unsafe_math",
    "wavefrontsize64": "wavefrontsize64",
}  # fmt: skip
"""Variables of the device libraries → the names of their files."""
TREE_VERSION = 2  # version of the layout that rocm_tree makes
ABI_VERSIONS = (400, 500, 600)
TO_BITCODE = ("--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir", "-emit-llvm", "-c")
"""clang's options for reading IR, as text or as bitcode, and writing bitcode."""
HEADERS = Path(__file__).parent / "simt" / "include"
_LAYOUT = (
    "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-"
    "p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-"
    "v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


@dataclass(frozen=True)
class KernelResources:
    """The resources of one kernel, as its object file states them."""

    kernel: str
    vgprs: int
    sgprs: int
    lds_bytes: int
    scratch_bytes: int
    vgpr_spills: int
    sgpr_spills: int
    wave_width: int


@dataclass(frozen=True)
class Compiled:
    """The result of one compilation for one target."""

    target: str
    is_built: bool
    errors: tuple[str, ...] = ()
    kernels: tuple[KernelResources, ...] = ()


@functools.cache
def find_clang() -> str | None:
    """Return the newest clang++ on PATH."""
    names = [f"clang++-{n}" for n in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1)]
    return next((path for name in (*names, "clang++") if (path := shutil.which(name))), None)


@functools.cache
def compile_missing() -> str | None:
    """Return what this machine lacks to compile HIP for AMD targets, and how to get it; None if
    nothing."""
    clang, wheel = find_clang(), _wheel()
    if clang is None:
        return "no clang++ on PATH; run: apt-get install clang lld (20 or newer)"
    if _rocm() is not None:
        return None
    if wheel is None:
        return 'no HIP headers; run: pip install "kernelwright[triton]", or install ROCm'
    if not _reads(clang, wheel / "lib" / "ockl.bc"):
        why = f"{clang} is too old for the triton wheel's device libraries"
        return f"{why}; install clang and lld, 20 or newer"
    return None


def _reads(clang: str, bitcode: Path) -> bool:
    """Return whether a compiler can read bitcode; it cannot read that of a newer one."""
    command = [clang, *TO_BITCODE, str(bitcode), "-o", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def gpu_missing() -> str | None:
    """Return why no AMD GPU can be used; None if one may be.

    Source: the kernel driver's device, ROCm installation guide, "Group permissions".
    """
    if not Path("/dev/kfd").exists():
        return "no AMD GPU (/dev/kfd); run where there is one"
    return None if os.access("/dev/kfd", os.W_OK) else "no right to /dev/kfd; join group render"


def hipcc_missing() -> str | None:
    """Return why no program can be built for this machine's AMD GPU; None if one can."""
    return None if shutil.which("hipcc") else "no hipcc on PATH; install ROCm"


def _rocm() -> Path | None:
    for place in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if place and Path(place, "include/hip/hip_runtime.h").exists():
            return Path(place)
    return None


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "backends" / "amd"
    return folder if (folder / "include/hip/hip_runtime.h").exists() else None


@functools.cache
def rocm_tree() -> Path:
    """Return a folder with ``include`` and ``amdgcn/bitcode``: ROCm's, or one made from the wheel.

    Call it only if :func:`compile_missing` says that nothing is missing.
    """
    installed, wheel, clang = _rocm(), _wheel(), find_clang()
    if installed is not None:
        return installed
    assert wheel is not None and clang is not None

    def make(tree: Path) -> None:
        bitcode = tree / "amdgcn/bitcode"
        bitcode.mkdir(parents=True)
        (tree / "include").symlink_to(wheel / "include")
        for name in ("ocml", "ockl"):
            (bitcode / f"{name}.bc").symlink_to(wheel / "lib" / f"{name}.bc")
        _write_constants(clang, bitcode)

    return kept_folder("rocm", f"{wheel} {clang_version(clang)} {TREE_VERSION}", make)


def _write_constants(clang: str, bitcode: Path) -> None:
    texts = {"hip": "", "opencl": ""}
    for target, version in TARGETS.items():
        name = f"oclc_isa_version_{target.removeprefix('gfx')}"
        texts[name] = _constant("ISA_version", "i32", version)
    for version in ABI_VERSIONS:
        texts[f"oclc_abi_version_{version}"] = _constant("ABI_version", "i32", version)
    for switch, file in SWITCHES.items():
        for value, end in enumerate(("off", "on")):
            texts[f"oclc_{file}_{end}"] = _constant(switch, "i8", value)
    for value, end in enumerate(("off", "on")):  # the constant is in the same file as the switch
        log2 = _constant("wavefrontsize_log2", "i32", 5 + value)
        texts[f"oclc_wavefrontsize64_{end}"] += log2
    head = f'target datalayout = "{_LAYOUT}"\ntarget triple = "amdgcn-amd-amdhsa"\n'
    for name, text in texts.items():
        source = bitcode / f"{name}.ll"
        source.write_text(head + text)
        subprocess.run(
            [clang, *TO_BITCODE, str(source), "-o", str(bitcode / f"{name}.bc"), "-w"],
            check=True,
            capture_output=True,
        )
        source.unlink()


def _constant(name: str, kind: str, value: int) -> str:
    align = 4 if kind == "i32" else 1
    return (
        f"@__oclc_{name} = linkonce_odr hidden local_unnamed_addr addrspace(4) "
        f"constant {kind} {value}, align {align}\n"
    )


@functools.cache
def clang_version(clang: str) -> str:
    run = subprocess.run([clang, "--version"], capture_output=True, text=True, check=False)
    return run.stdout.splitlines()[0] if run.stdout else ""


def compile_hip(
    source: Path, *, target: str, includes: tuple[Path, ...] = (), flags: tuple[str, ...] = ()
) -> Compiled:
    """Compile and link the device code of ``source`` for ``target``; the result has its resources.

    Call it only if :func:`compile_missing` says that nothing is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "code.o")
        errors = code_object(source, built, target=target, includes=includes, flags=flags)
        if errors:
            return Compiled(target, False, errors)
        return Compiled(target, True, (), read_resources(built))


def link_hip(units: Sequence[tuple[Path, tuple[str, ...]]], *, target: str) -> Compiled:
    """Compile units, each a source and its flags, with relocatable device code, and link them.

    Call it only if :func:`compile_missing` says that nothing is missing.
    """
    clang = find_clang()
    assert clang is not None
    with tempfile.TemporaryDirectory() as folder:
        parts, built = [], Path(folder, "code.o")
        for number, (source, flags) in enumerate(units):
            part = Path(folder, f"{number}.bc")
            run = _clang(source, part, target, (*flags, "-fgpu-rdc", "-c"))
            if run.returncode:
                return Compiled(target, False, _errors(run.stderr))
            parts.append(str(part))
        command = [clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-O2", "-nogpulib"]
        run = subprocess.run(
            [*command, *parts, "-o", str(built)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            return Compiled(target, False, _errors(run.stderr))
        return Compiled(target, True, (), read_resources(built))


def code_object(
    source: Path,
    built: Path,
    *,
    target: str,
    includes: tuple[Path, ...] = (),
    flags: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Write the linked device code of ``source`` for ``target`` to ``built``; return the errors.

    Call it only if :func:`compile_missing` says that nothing is missing.
    """
    run = _clang(source, built, target, (*(f"-I{path}" for path in includes), *flags, "-c"))
    return _errors(run.stderr) if run.returncode else ()


def stand_ins(source: Path) -> tuple[str, ...]:
    """Return the headers that a file includes and that are our own here, because no ROCm provides
    them.

    Names and arguments are then checked against our headers, and registers are those of our code.
    """
    names = re.findall(r"#\s*include\s*<([\w/.]+)>", source.read_text(errors="replace"))
    own, tree = HEADERS / "amd", rocm_tree() / "include"
    ours = (name for name in names if (own / name).exists() and not (tree / name).exists())
    return tuple(dict.fromkeys(ours))


def assemble_hip(
    source: Path, *, target: str, includes: tuple[Path, ...] = (), flags: tuple[str, ...] = ()
) -> str | None:
    """Return the AMD assembly of ``source``; None if it does not compile.

    Not covered: whether it links; :func:`compile_hip` says that.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "code.s")
        run = _clang(source, text, target, (*(f"-I{path}" for path in includes), *flags, "-S"))
        return None if run.returncode else text.read_text()


def _clang(
    source: Path, out: Path, target: str, flags: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    clang, tree = find_clang(), rocm_tree()
    assert clang is not None
    command = [
        clang, "-x", "hip", "-O2", "-std=c++17", "-w", f"--offload-arch={target}",
        "--offload-device-only", "--no-gpu-bundle-output", f"--rocm-path={tree}",
        f"--rocm-device-lib-path={tree / 'amdgcn/bitcode'}", "--hip-version=7.1.25424",
        "-isystem", str(tree / "include"), "-idirafter", str(HEADERS / "amd"), *_of_openmp(),
        *flags, str(source), "-o", str(out),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


@functools.cache
def _of_openmp() -> tuple[str, ...]:
    """Return the folder of GCC's omp.h, for host code, if clang has none of its own."""
    gcc = shutil.which("g++")
    if gcc is None:
        return ()
    asked = subprocess.run(
        [gcc, "-print-file-name=include"], capture_output=True, text=True, check=False
    )
    folder = Path(asked.stdout.strip())
    return ("-idirafter", str(folder)) if (folder / "omp.h").exists() else ()


def _errors(text: str) -> tuple[str, ...]:
    found = [line for line in text.splitlines() if re.search(r"\berror:", line)]
    return tuple(found or text.splitlines()[:5])


def read_resources(built: Path) -> tuple[KernelResources, ...]:
    """Return registers, shared memory, scratch and spills of every kernel in a code object.

    Source:
        LLVM's AMDGPU usage page, "Code Object V5 Metadata": a MessagePack note of type 32.
    """
    import msgpack
    from elftools.elf.elffile import ELFFile

    with built.open("rb") as file:
        for section in ELFFile(file).iter_sections(type="SHT_NOTE"):
            for note in section.iter_notes():
                if note["n_name"] != "AMDGPU":
                    continue
                described = note["n_descdata"]
                metadata = msgpack.unpackb(described, raw=False, strict_map_key=False)
                return tuple(_resources(k) for k in metadata.get("amdhsa.kernels", ()))
    return ()


def _resources(kernel: dict[str, int | str]) -> KernelResources:
    return KernelResources(
        kernel=str(kernel[".name"]),
        vgprs=int(kernel[".vgpr_count"]),
        sgprs=int(kernel[".sgpr_count"]),
        lds_bytes=int(kernel[".group_segment_fixed_size"]),
        scratch_bytes=int(kernel[".private_segment_fixed_size"]),
        vgpr_spills=int(kernel.get(".vgpr_spill_count", 0)),
        sgpr_spills=int(kernel.get(".sgpr_spill_count", 0)),
        wave_width=int(kernel[".wavefront_size"]),
    )
