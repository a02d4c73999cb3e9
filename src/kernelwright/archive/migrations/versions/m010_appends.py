"""Which appends have been done; samples in one row a verdict, and indexes, for archives of millions
of verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m010"
down_revision = "m009"


_ARRAYS = {
    "sqlite": "SELECT evaluation, json_group_object(series, json(samples)) FROM (SELECT "
    "evaluation, series, json_group_array(ns) AS samples FROM (SELECT * FROM timing ORDER BY "
    "evaluation, series, round) GROUP BY evaluation, series) GROUP BY evaluation",
    "postgresql": "SELECT evaluation, json_object_agg(series, samples)::text FROM (SELECT "
    "evaluation, series, json_agg(ns ORDER BY round) AS samples FROM timing GROUP BY evaluation, "
    "series) AS arrays GROUP BY evaluation",
}


def _pack_samples() -> None:
    op.create_table(
        "packed",
        sa.Column("evaluation", sa.Integer, sa.ForeignKey("evaluation.id"), primary_key=True),
        sa.Column("samples_ns", sa.Text, nullable=False),
        sa.CheckConstraint("json_valid(samples_ns)").ddl_if(dialect="sqlite"),
        sqlite_strict=True,
    )
    arrays = _ARRAYS[op.get_bind().dialect.name]
    op.execute(f"INSERT INTO packed (evaluation, samples_ns) {arrays}")
    op.drop_table("timing")
    op.rename_table("packed", "timing")


def upgrade() -> None:
    _pack_samples()
    op.create_table(
        "appended",
        sa.Column("id", sa.Text, primary_key=True),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("run_by_task", "run", ["task"])
    open_ones = sa.text("finished_at IS NULL")
    op.create_index(
        "run_not_finished", "run", ["id"], sqlite_where=open_ones, postgresql_where=open_ones
    )
    op.create_index("proposal_by_run", "proposal", ["run"])
    op.create_index("proposal_by_call", "proposal", ["call"])
