"""What models were asked and answered: one row per call, and the call behind a proposal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m002"
down_revision = "m001"

OUTCOMES = ("answered", "refused", "cut", "failed")
REAL: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "call",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run", sa.Text, sa.ForeignKey("run.id"), nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("model", "purpose", "template", "dialect", "answer", "detail")
        ),
        *(column for name in ("context", "parameters", "messages") for column in _json(name)),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.CheckConstraint(f"outcome IN {OUTCOMES}"),
        sa.Column("parent", sa.Text, sa.ForeignKey("candidate.digest")),
        sa.Column("follows", sa.Text, sa.ForeignKey("call.id")),
        sa.Column("input_tokens", BIG, nullable=False),
        sa.Column("output_tokens", BIG, nullable=False),
        sa.Column("cost_usd", REAL),  # null where nobody stated the price
        sa.Column("took_s", REAL, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    op.create_index("call_by_run", "call", ["run"])
    # Written out: alembic cannot add a column that refers to another table on SQLite.
    op.execute("ALTER TABLE proposal ADD COLUMN call TEXT REFERENCES call(id)")


def _json(name: str) -> tuple[sa.schema.SchemaItem, ...]:
    check = sa.CheckConstraint(f"json_valid({name})").ddl_if(dialect="sqlite")
    return sa.Column(name, sa.Text, nullable=False), check
