"""The kill matrix: every check on every mutant and control, at every level of evidence that makes a difference."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from specaudit.calibrate.drive import HIDDEN, Level, drive, tokens_of
from specaudit.calibrate.subjects import (
    DRAFT_TOKENS,
    decoder,
    family_of,
    found,
    full_precision_of,
    plain,
    reference_of,
    sampling_of,
    world_of,
)
from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.calibration import Kill
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding
from specaudit.model.plan import Arm, Plan, Role
from specaudit.model.record import Record
from specaudit.model.suite import Background, Suite
from specaudit.version import VERSION

ALPHA = 1e-3
CONCURRENCY = 8

LEVELS = ("exact", "scored", "sampled", "text")
ANY = "any"

BY_LEVEL = ("GRD1", "LAW1", "LAW3")
"""Checks that judge by what is revealed of the target; all others ask the subject alone, or as the next ones."""

SHARPER_IF_EXACT = ("SED2", "SED3", "LGP1")
"""Checks that allow for numeric noise, unless the law is exactly known; how else it is known is one to them."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "GRD1": {"prompts": 64, "max_tokens": 32},
    "GRD2": {"prompts": 64, "max_tokens": 32},
    "LAW1": {"tolerance": 0.05},
    "LAW3": {"tolerance": 0.1, "prompts": 1, "choices": 8},
}
"""What differs from the checks' own defaults."""

FOR: Mapping[str, frozenset[str]] = {
    "LAW5": frozenset({"parameters", "grammar-bonus-unmasked", "reference:filter-order-swapped"}),
    "LAW6": frozenset({"precision", "fp8-draft", "fp8-target"}),
}
"""Checks that cost much and are about some subjects only: their families, or their own names. None is quick."""

DRAWN: Mapping[str, Any] = {"max_tokens": 16}
"""Settings of LAW3 where no law is told: then every scored token is a request."""

CLOSER: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("block-verify-wrong-residual", "LAW1"): {"tolerance": 0.02},
    ("late-kv", "LAW3"): {"prompt_tokens": 128},
}
"""Settings, by mutant and check, for a fault that is smaller than what is tolerated otherwise, or further on."""

QUICK: Mapping[str, Mapping[str, Any]] = {
    "GRD1": {"prompts": 16, "max_tokens": 16},
    "GRD2": {"prompts": 8, "max_tokens": 8},
    "GRD3": {"prompts": 16, "max_tokens": 16},
    "LAW1": {"tolerance": 0.15, "max_completions": 1000, "pilot": 400},
    "LAW2": {"prompts": 16, "max_tokens": 12},
    "LAW3": {"tolerance": 0.2, "max_tokens": 32, "prompts": 1, "choices": 8},
    "LAW4": {"requests": 32},
    "SED1": {"prompts": 16, "max_tokens": 12},
    "SED2": {"prompts": 16, "max_tokens": 8, "tolerance": 0.45},
    "SED3": {"prompts": 16, "max_tokens": 24, "tolerance": 0.45, "pilot": 24, "pilot_tokens": 4},
    "LGP1": {"prompts": 16, "max_tokens": 12, "tolerance": 0.45},
    "CTR1": {"windows": 4, "choices": 4},
    "CTR2": {"windows": 2, "choices": 8, "long_windows": 2, "long_choices": 4},
    "CTR3": {"windows": 20, "requests": 2, "choices": 4, "max_tokens": 16},
    "CTR4": {"prompts": 8, "max_tokens": 16, "stops": 48, "past_the_end": 0.15},
    "CTR5": {"windows": 1, "choices": 4, "prompts": 12, "repeats": 4, "repeated_tokens": 16},
}
"""Less of everything, so that a calibration ends in two minutes; what needs more tokens than these survives."""

QUICK_BEYOND_CHAINS = ("GRD1", "LAW3", "CTR1", "CTR4")
"""Checks of a quick calibration in worlds whose models take long to compute."""

OF_CLAIMS = ("CLM1", "CLM2", "CLM3")
"""Checks that judge what was said of a decoder, and not the decoder."""

_STATED_ON = 256
_STATED_WIDTH = 0.15


class KillTask(Record, frozen=True, kw_only=True, tag="kill"):
    """One cell of the matrix."""

    subject: str
    check: str
    level: str
    settings: dict[str, Any]
    seed: int


def kill_tasks(subjects: list[str], *, quick: bool, seed: int) -> list[KillTask]:
    """Return the cells of the matrix.

    The exact law is revealed in worlds of Markov chains only; where it is not, that level is left out.
    """
    return [
        KillTask(
            subject=subject,
            check=check,
            level=level,
            settings=settings_of(subject, check, level, quick=quick),
            seed=seed,
        )
        for subject in subjects
        for check, level in _cells(subject, quick=quick)
    ]


def kill(task: KillTask) -> Kill:
    """Carry out one audit of one check; a subject that crashes is told as crashed."""
    told: Finding | None = None
    tokens = 0
    try:
        told, evidence = _audited(task)
        early = told.betting.rejected_after if told.betting else None
        tokens = early or tokens_of(evidence, list(evidence.stages))
    except Exception as error:  # whatever a faulty decoder raises
        crash = f"{type(error).__name__}: {error}"
    return Kill(
        subject=task.subject,
        family=family_of(task.subject),
        check=task.check,
        level=task.level,
        verdict=told.verdict.value if told else "crashed",
        tokens=tokens,
        told=told.summary if told else crash,
    )


def _cells(subject: str, *, quick: bool) -> Iterator[tuple[str, str]]:
    """The checks and levels at which a subject is judged."""
    chain = isinstance(world_of(subject).target, MarkovModel)
    levels = LEVELS if chain else LEVELS[1:]
    checks = [check for check in registry.locations() if chain or not quick or check in QUICK_BEYOND_CHAINS]
    if quick and subject.startswith("mutant:"):
        checks = [check for check in registry.locations() if check in found(subject).killed_by]
    # Correct decoders differ by what the law is asked with, which all other checks do not look at.
    alike = quick and subject.startswith("reference:")
    for check in checks:
        if check in OF_CLAIMS:
            continue
        if check in FOR:
            asked = not quick and not FOR[check].isdisjoint({family_of(subject), plain(subject), subject})
            for level in (("exact", "sampled") if chain else (ANY,)) if asked else ():
                yield check, level
        elif check in BY_LEVEL:
            for level in levels[:1] if quick else levels:
                yield check, level
        elif not alike and chain and check in SHARPER_IF_EXACT:
            for level in levels[: 1 if quick else 2]:
                yield check, level
        elif not alike:
            yield check, ANY


def settings_of(subject: str, check: str, level: str, *, quick: bool = False) -> dict[str, Any]:
    """Return what a suite says of a check where it judges a subject at a level of evidence, without `conditions`."""
    if quick:
        return dict(QUICK.get(check, {}))
    drawn = DRAWN if (check, level) == ("LAW3", "sampled") else {}
    return {**SETTINGS.get(check, {}), **drawn, **CLOSER.get((plain(subject), check), {})}


def _audited(task: KillTask) -> tuple[Finding, Evidence]:
    """Audit the subject with one check, as `specaudit run` would, at a level of evidence."""
    table = {**task.settings, **conditions(task.subject, task.check)}
    suite = Suite(name="calibration", title="", checks={task.check: table}, background=Background())
    check, settings = registry.get(task.check), registry.settings_of(suite, task.check)
    names: dict[Role, str] = {"subject": task.subject}
    decoders: dict[Role, SpeculativeDecoder] = {
        "subject": decoder(task.subject),
        "reference": reference_of(task.subject),
        **{role: full_precision_of(task.subject) for role in check.beside},
    }
    engines = {role: ReferenceEngine(decoder) for role, decoder in decoders.items()}
    plan = Plan(
        tool=VERSION,
        created="",
        suite=suite,
        checks=(task.check,),
        required=(task.check,),
        arms=tuple(Arm(role=role, engine=names.get(role, "reference")) for role in engines),
        metrics="in process",
        alpha=ALPHA,
        seed=task.seed,
        concurrency=CONCURRENCY,
    )
    hidden = {} if task.level == ANY else HIDDEN[cast(Level, task.level)]
    evidence = drive(
        check,
        settings,
        plan,
        engines,
        reveal=task.level == "exact",
        hidden={role: hidden for role in engines},
    )
    return check.judge(settings, evidence, budget_of(plan, task.check)), evidence


def conditions(subject: str, check: str) -> dict[str, Any]:
    """Return settings without which the fault is none: sampling parameters, or the acceptance a vendor would state."""
    sampling = sampling_of(subject)
    if check in ("LAW1", "LAW3") and sampling is not None:
        return {"sampling": sampling}
    if check == "CTR3" and subject.startswith("mutant:"):
        return {"stated": stated_acceptance(subject)}
    return {}


@cache
def stated_acceptance(subject: str) -> tuple[float, float]:
    """Return the range that a vendor would state: the correct decoder's acceptance length in the subject's world."""
    honest = SpeculativeDecoder(world_of(subject), draft_tokens=DRAFT_TOKENS)
    prompts = np.random.default_rng(0).integers(honest.world.vocabulary_size, size=(_STATED_ON, 4))
    honest.generate(prompts, np.arange(_STATED_ON), max_tokens=64)
    length = 1 + honest.counters.accepted / honest.counters.drafts
    return round(length - _STATED_WIDTH, 3), round(length + _STATED_WIDTH, 3)
