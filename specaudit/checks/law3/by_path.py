"""The tokens of LAW3 by the verification path that they came by, where every completion tells its steps."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.paths import AFTER_REJECTION, BONUS, UNDRAFTED, after_rejections, labels, position
from specaudit.checks.tokens import KnownTokens, ScoredTokens, emissions
from specaudit.model.evidence import Evidence


def planned_paths(evidence: Evidence) -> tuple[str, ...]:
    """Return the paths that are looked at, which the subject's drafts per step tell; none where these are not known."""
    drafts = evidence.capabilities["subject"].draft_tokens
    if not drafts:
        return ()
    return (*(position(i) for i in range(1, drafts + 1)), BONUS, UNDRAFTED, AFTER_REJECTION)


def tokens_by_path(evidence: Evidence, rounds: Sequence[ScoredTokens]) -> dict[str, list[NDArray[np.bool_]]] | None:
    """Return which known tokens of each round came by each path; None where a completion does not tell its steps."""
    stages = {one.stage for one in rounds}
    told = {stage: _paths_of(evidence, stage) for stage in stages}
    if any(paths is None for paths in told.values()):
        return None
    found: dict[str, list[NDArray[np.bool_]]] = {path: [] for path in planned_paths(evidence)}
    for one in rounds:
        paths = told[one.stage]
        if one.known is None or paths is None:
            continue
        names, after = _looked_up(one.known, paths)
        for path, masks in found.items():
            masks.append(after if path == AFTER_REJECTION else names == path)
    return found


_Paths = list[tuple[list[str], list[bool]]]
"""By completion: the path of each token, and whether it is the first after a step that rejected."""


def _paths_of(evidence: Evidence, stage: str) -> _Paths | None:
    found: _Paths = []
    for one in emissions(evidence, stage, "subject"):
        if one.tokens is not None and one.steps is None:
            return None
        found.append(([], []) if one.steps is None else (labels(one.steps), after_rejections(one.steps)))
    return found


def _looked_up(known: KnownTokens, paths: _Paths) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
    """Path of each known token `[N]`, and whether it is the first after a step that rejected `[N]`."""

    def pairs() -> Iterator[tuple[str, bool]]:
        for row, depth in zip(known.row.tolist(), known.depth.tolist(), strict=True):
            names, after = paths[row]
            yield names[depth], after[depth]

    names, after = zip(*pairs(), strict=True)
    return np.array(names), np.array(after)
