"""What is calibrated against: every mutant, every control, and the correct decoder; and how to ask for their faults."""

from collections.abc import Iterable, Mapping

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import WORLDS, World
from specaudit.model.errors import UsageError
from specaudit.model.request import Sampling
from specaudit.mutants import registry

DRAFT_TOKENS = 3

_WARM = Sampling(temperature=0.7, top_k=4)

SAMPLING: Mapping[str, Sampling] = {
    "target-unwarped": _WARM,
    "declared-q-raw": _WARM,
    "block-verify-wrong-residual": _WARM,
    "accept-leq-zero-coin": Sampling(top_k=2),
    "filter-order-swapped": Sampling(top_k=3, top_p=0.8),
    "logit-bias-dropped": Sampling(top_k=4, logit_bias=((1, 1.5),)),
    "penalties-dropped": Sampling(top_k=4, presence_penalty=1.0, repetition_penalty=1.2),
    "bad-words-off-by-one": Sampling(top_k=4, bad_words=((0, 1), (2, 3))),
}
"""Sampling parameters without which a fault is none, or next to none."""


def subjects() -> list[str]:
    """Return all mutants at their default dose, all controls, and correct decoders asked as the mutants are."""
    mutants = (f"mutant:{name}" for name in registry.names())
    controls = (f"control:{name}" for name in registry.controls())
    return [*mutants, *controls, *_correct(registry.names())]


def chosen(names: tuple[str, ...]) -> list[str]:
    """Return the mutants of those names, perhaps with doses, and their correct decoders; all subjects without names.

    Raises:
        UsageError: there is no such mutant, or its dose is out of range; the message names the nearest.
    """
    mutants = list(dict.fromkeys(f"mutant:{name}" for name in names))
    for subject in mutants:
        found(subject)
    return [*mutants, *_correct(map(plain, mutants))] if mutants else subjects()


def _correct(mutants: Iterable[str]) -> list[str]:
    """One correct decoder for each world and each sampling that these mutants are asked in."""
    ways: dict[object, str] = {}
    for subject in (f"reference:{name}" for name in mutants):
        ways.setdefault((world_of(subject).name, sampling_of(subject)), subject)
    return list(ways.values())


def found(subject: str) -> registry.Mutant:
    """Look up a mutant or control, or the mutant as which a correct decoder is asked.

    Raises:
        UsageError: there is none of this name, or its dose is out of range.
    """
    kind, _, name = subject.partition(":")
    try:
        return registry.get_control(name) if kind == "control" else registry.get(name)
    except (registry.UnknownMutantError, ValueError) as error:
        what = "controls" if kind == "control" else "mutants"
        message = str(error)
        raise UsageError(f"{message[0].upper()}{message[1:]}", hint=f"specaudit list {what}") from error


def family_of(subject: str) -> str:
    """Return the family of a mutant; `control` of everything that is right."""
    return "control" if subject.startswith("reference:") else found(subject).family


def world_of(subject: str) -> World:
    """Return the world in which a subject's fault can be seen: with the target that it is held against."""
    return WORLDS[found(subject).plain]


def decoder(subject: str) -> SpeculativeDecoder:
    """Build the subject."""
    if subject.startswith("reference:"):
        return SpeculativeDecoder(world_of(subject), draft_tokens=DRAFT_TOKENS)
    variant = found(subject)
    return variant.build(WORLDS[variant.world], draft_tokens=DRAFT_TOKENS)


def reference_of(subject: str) -> SpeculativeDecoder:
    """Build plain decoding of the target that the subject ought to have."""
    return SpeculativeDecoder(world_of(subject), draft_tokens=0)


def full_precision_of(subject: str) -> SpeculativeDecoder:
    """Build plain decoding of that target before it was quantised."""
    world = world_of(subject)
    return SpeculativeDecoder(WORLDS[world.full_precision or world.name], draft_tokens=0)


def sampling_of(subject: str) -> Sampling | None:
    """Return the parameters without which the subject's fault is none; None where any will do."""
    return SAMPLING.get(plain(subject))


def plain(subject: str) -> str:
    """Return the subject's name without kind and dose."""
    return subject.partition(":")[2].partition(":")[0]
