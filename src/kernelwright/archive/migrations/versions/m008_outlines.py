"""Outlines of the programs that the tuner tried, from which cost models learn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m008"
down_revision = "m007"
REAL: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "outline",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("steps", sa.Text, nullable=False),
        sa.CheckConstraint("json_valid(steps)").ddl_if(dialect="sqlite"),
        sqlite_strict=True,
    )
    # Written out: alembic cannot add a column that refers to another table on SQLite.
    op.add_column("trial", sa.Column("expected_ns", REAL))
    op.execute("ALTER TABLE trial ADD COLUMN outline TEXT REFERENCES outline(digest)")
