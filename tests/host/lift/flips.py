"""Changes of a row's C: almost all of them make the row wrong."""

FLIPS = (("d = 0;", "d = 1;"), (" + ", " - "), (" - ", " + "), (" * ", " + "),
         (" ? ", " == 0 ? "), (" < ", " >= "),
         (" > ", " <= "), (" >= ", " < "), (" <= ", " > "), (" == ", " != "), (" != ", " == "),
         (" & ", " | "), (" | ", " & "), (" << ", " >> "), (" >> ", " << "), (" ^ ", " & "),
         ("d = ", "d = -"))  # fmt: skip
OTHERS = (("p = ", "p = !"), ("*)at", "*)(at + 16)"), ("ATOMIC(add", "ATOMIC(xor"),
          ("ATOMIC(and", "ATOMIC(or"), ("ATOMIC(or", "ATOMIC(and"), ("ATOMIC(xor", "ATOMIC(or"),
          ("ATOMIC(min", "ATOMIC(max"), ("ATOMIC(max", "ATOMIC(min"), ("ATOMIC(smin", "ATOMIC(min"),
          ("ATOMIC(smax", "ATOMIC(max"), ("ATOMIC(exchange", "ATOMIC(add"),
          ("ATOMIC(inc", "ATOMIC(add"), ("ATOMIC(dec", "ATOMIC(inc"),
          ("shared_at(at)", "shared_at(at + 16)"),
          (", a)", ", a + 1)"), (", a, ", ", a + 1, "), (", expected, ", ", ~expected, "),
          ("(a)", "(a - a)"), ("barrier();", ";"), ("FENCE(", "(void)("),
          ("TRAP();", ";"))  # fmt: skip
"""Changes of rows that have no operator."""


def flips(c):
    """Yield a row's C with one thing changed, for each thing that can be."""
    for old, new in (*FLIPS, *OTHERS):
        if old in c:
            yield c.replace(old, new, 1)
