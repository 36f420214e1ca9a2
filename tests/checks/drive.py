"""Carry out a check's stages against decoders in this process."""

from specaudit.calibrate import drive as stages
from specaudit.calibrate.drive import Spoil
from specaudit.checks.interface import Check
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.evidence import Evidence
from specaudit.model.suite import CheckSettings
from specaudit.mutants import registry as mutants
from tests.model.builders import plan


def engine(name: str = "reference", draft_tokens: int = 3) -> ReferenceEngine:
    """A decoder by name: `reference`, or a mutant's name."""
    build = SpeculativeDecoder if name == "reference" else mutants.get(name).build
    return ReferenceEngine(build(MARKOV4, draft_tokens=draft_tokens))


def drive(
    check: Check,
    settings: CheckSettings,
    subject: ReferenceEngine,
    *,
    reveal: bool = False,
    seed: int = 0,
    subject_tokens: str = "ids",
    spoil: Spoil = lambda planned, response: response,
    **hidden: object,
) -> Evidence:
    """Return the evidence of a check's stages; `hidden` overrides what the arms' capabilities say."""
    return stages.drive(
        check,
        settings,
        plan(check.id, alpha=1e-3, metrics="in process", seed=seed, concurrency=8),
        {"subject": subject, "reference": engine(draft_tokens=0)},
        reveal=reveal,
        hidden={"subject": {**hidden, "tokens": subject_tokens}, "reference": hidden},
        spoil=spoil,
    )
