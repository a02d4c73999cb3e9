"""Codes beside the texts of reasons and warnings."""

from __future__ import annotations

import json
from collections.abc import Iterable

import sqlalchemy as sa
from alembic import op

from kernelwright.core.old_texts import reason_of, warning_of
from kernelwright.core.outcome import Reason, Status, Warned

revision = "m006"
down_revision = "m005"
BATCH = 1000


def upgrade() -> None:
    """Lists of texts become lists of objects with ``code`` and ``detail``; no text is lost."""
    table = sa.table("evaluation", *map(sa.column, ("id", "status", "reasons", "warnings")))
    said = (table.c.reasons != "[]") | (table.c.warnings != "[]")
    connection, last = op.get_bind(), 0
    while True:
        query = sa.select(table).where(said & (table.c.id > last)).order_by(table.c.id)
        found = connection.execute(query.limit(BATCH)).all()
        for row in found:
            status = Status(row.status)
            reasons = [reason_of(status, text) for text in json.loads(row.reasons)]
            warnings = map(warning_of, json.loads(row.warnings))
            values = {"reasons": _packed(reasons), "warnings": _packed(warnings)}
            connection.execute(sa.update(table).where(table.c.id == row.id).values(values))
        if len(found) < BATCH:
            return
        last = found[-1].id


def _packed(told: Iterable[Reason | Warned]) -> str:
    plain = [{"code": one.code.value, "detail": one.detail} for one in told]
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))
