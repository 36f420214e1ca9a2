"""The windows as a pandas table, for whoever wants to look further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specaudit.counters.summary import Summary

if TYPE_CHECKING:
    import pandas as pd


def to_frame(summary: Summary) -> pd.DataFrame:
    """Return a row for each window, positions in columns of their own.

    Columns: source, replica, start and end (UTC; NaT where unknown), status, reasons (one text), drafts, draft_tokens,
    accepted, generation_tokens, sequences, length (tokens per step), accepted_1 … accepted_K. Counts are floats, since
    what is not counted is NaN.
    """
    import pandas as pd

    width = max((len(row.accepted_per_position) for row in summary.windows), default=0)
    counts = ("drafts", "draft_tokens", "accepted", "generation_tokens", "sequences", "length")
    columns: dict[str, object] = {
        name: pd.Series([getattr(row, name) for row in summary.windows], dtype="str")
        for name in ("source", "replica", "status")
    }
    for name in ("start", "end"):
        times = [getattr(row, name) or None for row in summary.windows]
        columns[name] = pd.to_datetime(pd.Series(times, dtype="str"), utc=True, errors="coerce", format="ISO8601")
    columns["reasons"] = pd.Series(["; ".join(row.reasons) for row in summary.windows], dtype="str")
    for name in counts:
        columns[name] = pd.Series([getattr(row, name) for row in summary.windows], dtype="float64")
    for i in range(width):
        reached = [row.accepted_per_position[i : i + 1] for row in summary.windows]
        columns[f"accepted_{i + 1}"] = pd.Series([one[0] if one else None for one in reached], dtype="float64")
    order = ("source", "replica", "start", "end", "status", "reasons")
    return pd.DataFrame({name: columns[name] for name in (*order, *(c for c in columns if c not in order))})
