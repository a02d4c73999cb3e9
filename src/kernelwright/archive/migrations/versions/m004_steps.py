"""What training logged: one row for each step of a stage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m004"
down_revision = "m003"


def upgrade() -> None:
    op.create_table(
        "step",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        *(column for name in ("recipe", "facts") for column in _json(name)),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )


def _json(name: str) -> tuple[sa.schema.SchemaItem, ...]:
    check = sa.CheckConstraint(f"json_valid({name})").ddl_if(dialect="sqlite")
    return sa.Column(name, sa.Text, nullable=False), check
