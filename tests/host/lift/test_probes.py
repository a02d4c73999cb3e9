"""Each row of arithmetic, run on edges and at random, against a model made from its mnemonic.

Rows of memory and of warps are in test_warp_rows.py. Rows of approximations and of halves are not
here: whole programs check them (test_port.py, benchmarks/port_assembly.py), and a GPU
(benchmarks/port_hardware.py).
"""

import ctypes
import re
from itertools import count

import numpy as np
import pytest
from tests.host.lift.flips import flips
from tests.host.lift.models import MODELS, f32, f64, model

from kernelwright.dialects.simt import machine
from kernelwright.lift.banks import KernelBanks
from kernelwright.lift.build import C_FLAGS
from kernelwright.lift.cubin import Cubin, KernelFacts
from kernelwright.lift.kernel import statement
from kernelwright.lift.program import HEADERS
from kernelwright.lift.rows import bind, rows

pytestmark = pytest.mark.skipif(
    machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
)
BRAINS = {"high": ("-2.5", 0xC020), "low": ("0.046875", 0x3D40)}
"""Immediates of bfloat16: their text and their bits."""
IMMEDIATES = {"table": 0xCA, "n": 0x1B, "mask": 0x5B, "s": 0xD8, "t": 0x2E}
EDGES = (0, 1, 2, 0x1F, 0x20, 0x21, 0x3F, 0x40, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x3F800000,
         0xBF000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000001, 0x80000001, 0x7F7FFFFF,
         0x4B800001, 0x4F000000, 0x47800000)  # fmt: skip
N_VECTORS, N_WORDS = 96, 32
N_AGAIN = 8  # vectors of a row whose C another mnemonic has too
WIDE = ("u64", "i64", "f64")
OUT = {"d": 0, "p": 8, "q": 9, "PREDICATES": 10}
"""Where each result lies in the words that a probe writes."""
BANKS = KernelBanks(Cubin(), KernelFacts())


def is_modelled(row):
    base = row.sass.partition(".")[0].removeprefix("U")
    kinds = {slot.kind for slot in row.slots}
    left = {"bank", "global", "near"} if "BF16_V2" in row.sass else {"h2", "bank", "global", "near"}
    return base in MODELS and not kinds & left


ROWS = [row for forms in rows().values() for row in forms if is_modelled(row)]


def placed(row):
    """Return an instruction's operands, and where its inputs come from: name → (place, kind)."""
    texts, inputs = [], {}
    registers, predicates = count(10, 2), count(1)
    for slot in row.slots:
        if slot.is_result:
            texts.append("R2" if slot.kind != "pred" else {"p": "P5", "q": "P6"}[slot.name])
        elif slot.kind == "pred":
            k = next(predicates)
            inputs[slot.name] = (f"P{k}", k)
            texts.append(f"P{k}")
        elif slot.kind == "imm":
            inputs[slot.name] = (None, IMMEDIATES[slot.name])
            texts.append(hex(IMMEDIATES[slot.name]))
        elif slot.kind == "brain":
            text, bits = BRAINS[slot.name]
            inputs[slot.name] = (None, bits)
            texts.append(text)
        elif slot.kind.isupper():
            texts.append(slot.kind)
        else:
            k = next(registers)
            inputs[slot.name] = (slot.kind, k)
            texts.append(f"R{k}")
    return texts, inputs


def function(number, body):
    declared = " ".join(f"u32 R{k} = in[{k}];" for k in range(N_WORDS))
    declared += " ".join(f"bool P{k} = in[0] >> {k} & 1;" for k in range(7))
    return (
        f"void probe_{number}(const u32 *in, u32 *out) {{ {declared} R2 = R3 = 0; {body} "
        "out[0] = R2; out[1] = R3; out[8] = P5; out[9] = P6; out[10] = PREDICATES; }\n"
    )


def compiled(bodies, folder):
    """Return one function of (vectors) → results for each body."""
    head = f'#include "{HEADERS / "twin.h"}"\n#include "{HEADERS / "sass.h"}"\n'
    source, library = folder / "probes.c", folder / "probes.so"
    source.write_text(head + "".join(function(k, body) for k, body in enumerate(bodies)))
    flags = [*C_FLAGS, "-O1", "-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all"]
    machine.compile_with(str(machine.find_clang()), *flags, str(source), "-o", str(library), "-lm")
    loaded = ctypes.CDLL(str(library), mode=1)

    def run(number, vectors):
        call = getattr(loaded, f"probe_{number}")
        out = np.zeros((len(vectors), 16), np.uint32)
        for given, result in zip(vectors, out, strict=True):
            call(given.ctypes.data_as(ctypes.c_void_p), result.ctypes.data_as(ctypes.c_void_p))
        return out

    return run


def drawn():
    """Return the registers of all probes."""
    draw = np.random.default_rng(7)
    words = draw.integers(0, 1 << 32, (N_VECTORS, N_WORDS), dtype=np.uint32)
    edges = draw.choice(np.array(EDGES, np.uint32), words.shape)
    near = draw.normal(0, 50, words.shape).astype(np.float32).view(np.uint32)
    small = draw.integers(0, 40, words.shape)
    kinds = draw.integers(0, 5, words.shape)
    return np.choose(kinds, (words, near, small, edges, small)).astype(np.uint32)


@pytest.fixture(scope="module")
def vectors():
    return drawn()


def values_of(inputs, vector):
    found = {"PREDICATES": int(vector[0]) & 127}
    for name, (kind, at) in inputs.items():
        if kind is None:
            found[name] = at
        elif kind.startswith("P"):
            found[name] = int(vector[0]) >> at & 1
        else:
            wide = int(vector[at + 1]) << 32 if kind in WIDE else 0
            found[name] = int(vector[at]) | wide
    return found


def agrees(row, wanted, result):
    for name, value in wanted.items():
        at = OUT[name]
        slot = next((s for s in row.slots if s.name == name), None)
        if slot is None and name != "PREDICATES":
            continue
        kind = slot.kind if slot else "u32"
        seen = int(result[at]) | (int(result[at + 1]) << 32 if kind in WIDE else 0)
        read = {"f32": f32, "f64": f64}.get(kind)
        if read and np.isnan(read(value)) and np.isnan(read(seen)):
            continue
        if seen != value:
            return False
    return True


def body_of(row):
    texts, inputs = placed(row)
    bound = bind(row.sass, texts, BANKS)
    assert bound is not None and bound.row == row, (row.sass, texts)
    return statement(bound), inputs


def test_every_row_of_arithmetic_computes_what_its_mnemonic_says(tmp_path, vectors):
    bodies, wrong = {}, []
    work = [(row, *body_of(row)) for row in ROWS]
    for _, body, _ in work:
        bodies.setdefault(body, len(bodies))
    run = compiled(bodies, tmp_path)
    results = {body: run(number, vectors) for body, number in bodies.items()}
    seen = set()
    for row, body, inputs in work:
        n = N_AGAIN if body in seen else N_VECTORS
        seen.add(body)
        for vector, result in zip(vectors[:n], results[body][:n], strict=True):
            values = values_of(inputs, vector)
            wanted = model(row.sass, values)
            if not agrees(row, wanted, result):
                said = {name: hex(value) for name, value in (values | wanted).items()}
                wrong.append((row.sass, said, hex(result[0]), hex(result[1]), result[8:10]))
                break
    assert not wrong, "\n".join(map(str, wrong[:20]))


def changed(chosen, folder, vectors, most=None):
    """Return how many changes of rows were made, and those that no probe noticed."""
    work = []
    for row in chosen:
        body, inputs = body_of(row)
        for c in list(flips(row.c))[:most]:
            work.append((row, c, body.replace(row.c, c), inputs))
    bodies = {}
    for *_, body, _ in work:
        bodies.setdefault(body, len(bodies))
    run = compiled(bodies, folder)
    results = {body: run(number, vectors) for body, number in bodies.items()}
    unnoticed = [
        (row.sass, c)
        for row, c, body, inputs in work
        if all(
            agrees(row, model(row.sass, values_of(inputs, vector)), result)
            for vector, result in zip(vectors, results[body], strict=True)
        )
    ]
    return len(work), unnoticed


def test_a_changed_row_is_noticed(tmp_path, vectors):
    """Each entry of the tables is changed once: its probes then disagree. All changes of all rows:
    benchmarks/port_mutation.py."""
    chosen = {(row.entry, row.form): row for row in ROWS}.values()
    n, unnoticed = changed(chosen, tmp_path, vectors, most=1)
    assert n > 80
    assert not unnoticed


def test_mnemonics_without_a_model_are_those_that_programs_and_gpus_check():
    left = {row.sass.partition(".")[0] for forms in rows().values() for row in forms
            if not is_modelled(row)}  # fmt: skip
    checked = re.compile(
        r"U?LDC|LDG?|STG?|LDS|STS|LDL|STL|REDG?|ATOM[GS]?|MEMBAR|CCTL|(CGA)?ERRBAR|DEPBAR|S2U?R|CS2R"
        r"|SHFL|VOTEU?|REDUX|MATCH|R2UR|BAR|B2R|WARPSYNC|NANOSLEEP|YIELD|NOP|BPT|HMMA|IMMA|MUFU"
        r"|ENDCOLLECTIVE|FCHK|H(ADD|MUL|FMA|SETP|MNMX)2"
    )
    assert {name for name in left if not checked.fullmatch(name)} == set()
