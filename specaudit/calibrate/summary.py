"""From results to conclusions: what survived, what was accused, which methods and medians are as they should be."""

from collections.abc import Iterable, Sequence
from math import log
from statistics import median
from typing import TypeVar

from specaudit.calibrate.matrix import ALPHA, FOR
from specaudit.calibrate.nulls.method import RULES
from specaudit.calibrate.nulls.registry import METHODS
from specaudit.calibrate.subjects import family_of
from specaudit.model.calibration import (
    Alarms,
    Calibration,
    Divergence,
    Kill,
    Method,
    Result,
    Speed,
    Survivor,
    Verdicts,
)
from specaudit.version import VERSION

IN_THE_DICTIONARY = 1.1
LEFT_OUT = 6.0
"""How much longer than the theoretical mean a verdict may take, where the fault is bet on and where it is not."""

ACCEPT_RULE = "rule"
"""The family whose faults are found soon even where nothing is bet on them."""

_KS_LEVEL = 1e-3

R = TypeVar("R", bound=Result)


def summarise(results: Sequence[Result], *, seed: int, quick: bool, subjects: Sequence[str] = ()) -> Calibration:
    """Conclude from the results of all tasks, in the order of the tasks.

    A mutant among the `subjects` that no check was asked about survives as well: it was not killed.
    """
    kills = _of(results, Kill)
    divergences = _of(results, Divergence)
    crashed = tuple(one for one in kills if one.verdict == "crashed")
    accused = tuple(one for one in kills if one.killed and not _is_mutant(one.subject))
    judged = [one.subject for one in kills]
    survivors = tuple(_survivors(kills, dict.fromkeys([*judged, *subjects]), quick=quick))
    methods = tuple(_methods(_of(results, Alarms)))
    speeds = tuple(_speeds(_of(results, Verdicts), {one.subject: one.kl for one in divergences}))
    return Calibration(
        tool=VERSION,
        seed=seed,
        quick=quick,
        alpha=ALPHA,
        left_out=tuple(FOR) if quick else (),
        kills=tuple(kills),
        divergences=tuple(divergences),
        survivors=survivors,
        accused=accused,
        crashed=crashed,
        methods=methods,
        speeds=speeds,
        passed=not accused
        and not crashed
        and all(one.expected for one in survivors)
        and all(method.kept for method in methods)
        # A median of few audits is a rough one.
        and (quick or all(speed.kept for speed in speeds)),
    )


def _of(results: Iterable[Result], kind: type[R]) -> list[R]:
    return [result for result in results if isinstance(result, kind)]


def _is_mutant(subject: str) -> bool:
    return subject.startswith("mutant:")


def _survivors(kills: Sequence[Kill], subjects: Iterable[str], *, quick: bool) -> Iterable[Survivor]:
    """Mutants that no check killed; the crashed ones are told as such."""
    killed = {one.subject for one in kills if one.killed or one.verdict == "crashed"}
    for subject in subjects:
        if _is_mutant(subject) and subject not in killed:
            yield Survivor(subject=subject, expected="a calibration that is not quick" if quick else "")


def _methods(alarms: Sequence[Alarms]) -> Iterable[Method]:
    for name, level in dict.fromkeys((one.method, one.level) for one in alarms):
        parts = [one for one in alarms if (one.method, one.level) == (name, level)]
        method, most = METHODS[name], RULES[level][1]
        p_values = [p for one in parts for p in one.p_values]
        uniform = _uniformity(p_values) if p_values else None
        wrong = sum(one.wrong for one in parts)
        within = wrong <= most and (uniform is None or uniform >= _KS_LEVEL)
        yield Method(
            name=name,
            error=method.error,
            level=level,
            audits=sum(one.audits for one in parts),
            wrong=wrong,
            most=most,
            uniform_p=uniform,
            negative_control=method.negative_control,
            kept=within != method.negative_control,
        )


def _uniformity(p_values: Sequence[float]) -> float:
    from scipy.stats import kstest

    return float(f"{kstest(p_values, 'uniform').pvalue:.3g}")


def _speeds(verdicts: Sequence[Verdicts], kl: dict[str, float | None]) -> Iterable[Speed]:
    for one in verdicts:
        divergence = kl.get(one.subject)
        if divergence is None:
            continue
        limit = log(1 / ALPHA) / divergence
        allowed = _allowed(one, limit, divergence)
        middle = median(float("inf") if tokens is None else tokens for tokens in one.tokens)
        yield Speed(
            subject=one.subject,
            without=one.without,
            median=middle if middle < float("inf") else None,
            stein=float(f"{limit:.4g}"),
            allowed=None if allowed is None else float(f"{allowed:.4g}"),
            kept=allowed is None or middle <= allowed,
        )


def _allowed(one: Verdicts, limit: float, divergence: float) -> float | None:
    """The most that a median may be; None where nothing is promised."""
    if not one.without:
        return IN_THE_DICTIONARY * (limit + log(1 / one.weight) / divergence)
    return LEFT_OUT * limit if family_of(one.subject) == ACCEPT_RULE else None
