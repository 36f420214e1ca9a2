"""The mutants and the controls by name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pkgutil import iter_modules

import specaudit.mutants
from specaudit.decoding.decoder import SpeculativeDecoder


@dataclass(frozen=True, kw_only=True)
class Dose:
    """How strong a fault may be.

    Attributes:
        default: the dose unless one is named.
        low: least dose.
        high: largest dose.
    """

    default: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A decoder with one planted fault, or, as a control, with none that may be reported.

    Attributes:
        name: stable name.
        family: what the fault belongs to: rule, rng, counters, …; `control` for a control.
        fault: what it does wrong, or in its own way, in one sentence.
        seen: the public place where its class was seen, or what it is taken from.
        world: the world whose decoder it is.
        plain: the world whose plain decoding it is held against.
        dose: how strong the fault may be; None if it is there or not.
        killed_by: ids of the checks that are to find it; none for a control.
        evidence: least that has to be revealed of the target: `text`, `sampled`, `scored` or `exact`; empty for a
            control.
        build: makes the decoder; called as `SpeculativeDecoder` is.
    """

    name: str
    family: str
    fault: str
    seen: str
    world: str
    plain: str
    dose: Dose | None
    killed_by: tuple[str, ...]
    evidence: str
    build: Callable[..., SpeculativeDecoder]


class UnknownMutantError(KeyError):
    """No mutant, or no control, has this name.

    Attributes:
        name: the name asked for.
        nearest: names that look like it, best first; perhaps none.
    """

    def __init__(self, name: str, nearest: list[str], *, what: str = "mutant") -> None:
        super().__init__(name)
        self.name = name
        self.nearest = nearest
        self._what = what

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        return f"no {self._what} is called {self.name!r}{hint}"


_MUTANTS: dict[str, Mutant] = {}
_CONTROLS: dict[str, Mutant] = {}


def register(
    name: str,
    *,
    family: str,
    fault: Callable[..., object],
    build: Callable[..., SpeculativeDecoder],
    world: str = "markov4",
    plain: str | None = None,
    dose: Dose | None = None,
) -> None:
    """Add a mutant.

    Args:
        name: stable name, not in use yet.
        family: what the fault belongs to.
        fault: the class that overrides the step, or a function that builds with it. Its docstring is the
            mutant's description: the first paragraph tells the fault, the one that begins with `Seen:` the place, and
            the one that begins with `Killed by:` the checks that are to find it, with the evidence that they need.
        build: makes the faulty decoder; called as `SpeculativeDecoder` is, with `dose=` where there is one.
        world: name of the world whose decoder it is.
        plain: name of the world whose plain decoding it is held against; its own unless given.
        dose: how strong the fault may be.

    Raises:
        ValueError: the name is in use.
    """
    _add(_MUTANTS, name, family, fault, build, (world, plain or world), dose)


def register_control(
    name: str, *, control: Callable[..., object], build: Callable[..., SpeculativeDecoder], world: str = "markov4"
) -> None:
    """Add a control: a decoder that is unusual, and right; for the arguments see `register`.

    Raises:
        ValueError: the name is in use.
    """
    _add(_CONTROLS, name, "control", control, build, (world, world), None)


def names() -> list[str]:
    """Names of all mutants, sorted."""
    _load()
    return sorted(_MUTANTS)


def controls() -> list[str]:
    """Names of all controls, sorted."""
    _load()
    return sorted(_CONTROLS)


def get(name: str) -> Mutant:
    """Look up a mutant by `NAME` or `NAME:DOSE`.

    Raises:
        UnknownMutantError: there is none of this name.
        ValueError: the dose is none, out of range, or for a mutant that takes none.
    """
    _load()
    plain, colon, text = name.partition(":")
    mutant = _found(_MUTANTS, plain, "mutant")
    if mutant.dose is None:
        if colon:
            raise ValueError(f"mutant {plain} takes no dose, got {text!r}")
        return mutant
    return replace(mutant, build=partial(mutant.build, dose=_dose(mutant, text) if colon else mutant.dose.default))


def get_control(name: str) -> Mutant:
    """Look up a control by its name.

    Raises:
        UnknownMutantError: there is none of this name.
    """
    _load()
    return _found(_CONTROLS, name, "control")


def _add(
    kind: dict[str, Mutant],
    name: str,
    family: str,
    fault: Callable[..., object],
    build: Callable[..., SpeculativeDecoder],
    worlds: tuple[str, str],
    dose: Dose | None,
) -> None:
    if name in _MUTANTS or name in _CONTROLS:
        raise ValueError(f"two mutants or controls are called {name!r}")
    sentence, *others = [" ".join(text.split()) for text in (inspect.getdoc(fault) or "").split("\n\n")]
    (seen,) = (text.removeprefix("Seen: ") for text in others if text.startswith("Seen: "))
    killers = next((text for text in others if text.startswith("Killed by: ")), "Killed by:  ().")
    checks, _, evidence = killers.removeprefix("Killed by: ").rstrip(".").partition(" (")
    world, plain = worlds
    kind[name] = Mutant(
        name=name,
        family=family,
        fault=sentence,
        seen=seen,
        world=world,
        plain=plain,
        dose=dose,
        killed_by=tuple(filter(None, checks.split(", "))),
        evidence=evidence.rstrip(")"),
        build=build,
    )


def _found(kind: dict[str, Mutant], name: str, what: str) -> Mutant:
    try:
        return kind[name]
    except KeyError:
        raise UnknownMutantError(name, get_close_matches(name, kind), what=what) from None


def _dose(mutant: Mutant, text: str) -> float:
    assert mutant.dose is not None
    low, high = mutant.dose.low, mutant.dose.high
    try:
        dose = float(text)
    except ValueError:
        dose = float("nan")
    if not low <= dose <= high:
        raise ValueError(f"the dose of {mutant.name} must be a number from {low:g} to {high:g}, got {text!r}")
    return dose


def _load() -> None:
    """Import every family, so that a new one is a new file and nothing else."""
    for module in iter_modules(specaudit.mutants.__path__, "specaudit.mutants."):
        import_module(module.name)
