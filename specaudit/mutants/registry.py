"""The mutants by name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

import specaudit.mutants
from specaudit.decoding.decoder import SpeculativeDecoder


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A decoder with one planted fault.

    Attributes:
        name: stable name.
        family: what the fault belongs to: rule, rng, counters, …
        fault: what it does wrong, in one sentence.
        seen: the public place where its class of faults was seen.
        build: makes the faulty decoder; called as `SpeculativeDecoder` is.
    """

    name: str
    family: str
    fault: str
    seen: str
    build: Callable[..., SpeculativeDecoder]


class UnknownMutantError(KeyError):
    """No mutant has this name.

    Attributes:
        name: the name asked for.
        nearest: names that look like it, best first; perhaps none.
    """

    def __init__(self, name: str, nearest: list[str]) -> None:
        super().__init__(name)
        self.name = name
        self.nearest = nearest

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        return f"no mutant is called {self.name!r}{hint}"


_MUTANTS: dict[str, Mutant] = {}


def register(name: str, *, family: str, fault: type, build: Callable[..., SpeculativeDecoder]) -> None:
    """Add a mutant.

    Args:
        name: stable name, not in use yet.
        family: what the fault belongs to.
        fault: the class that overrides the step. Its docstring is the mutant's description: the first
            paragraph tells the fault, the one that begins with `Seen:` the place.
        build: makes the faulty decoder; called as `SpeculativeDecoder` is.

    Raises:
        ValueError: the name is in use.
    """
    if name in _MUTANTS:
        raise ValueError(f"two mutants are called {name!r}")
    sentence, *others = [" ".join(text.split()) for text in (inspect.getdoc(fault) or "").split("\n\n")]
    (seen,) = (text.removeprefix("Seen: ") for text in others if text.startswith("Seen: "))
    _MUTANTS[name] = Mutant(name=name, family=family, fault=sentence, seen=seen, build=build)


def names() -> list[str]:
    """Names of all mutants, sorted."""
    _load()
    return sorted(_MUTANTS)


def get(name: str) -> Mutant:
    """Look up a mutant.

    Raises:
        UnknownMutantError: there is none of this name.
    """
    _load()
    try:
        return _MUTANTS[name]
    except KeyError:
        raise UnknownMutantError(name, get_close_matches(name, _MUTANTS)) from None


def _load() -> None:
    """Import every family, so that a new one is a new file and nothing else."""
    for module in iter_modules(specaudit.mutants.__path__, "specaudit.mutants."):
        import_module(module.name)
