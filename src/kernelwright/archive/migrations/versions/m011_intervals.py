"""The intervals of trials' times, which a grid of measured schedules holds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m011"
down_revision = "m010"
REAL: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    for name in ("low_ns", "high_ns"):
        op.add_column("trial", sa.Column(name, REAL))
