"""The cells of the matrix: combinations of parameters in which every pair of levels occurs."""

from dataclasses import dataclass, field
from typing import Any

from specaudit.checks.law5.settings import MatrixSettings
from specaudit.model.request import Sampling, Token
from specaudit.stats.covering import covering_array


@dataclass(frozen=True, kw_only=True)
class Level:
    """One value of a parameter."""

    label: str
    """As a reader is told, e.g. `top_p 0.9`; empty for the neutral level."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Of `Sampling`; what is to be said in tokens is filled in when they are known."""


NEUTRAL = Level(label="")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter, or several of which one is on at a time, with its levels; the first is neutral."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination of levels."""

    number: int
    levels: dict[str, Level]
    """By the parameter's name, those that are not neutral."""

    @property
    def name(self) -> str:
        """As a reader is told."""
        return ", ".join(level.label for level in self.levels.values()) or "every parameter neutral"

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields of `Sampling` that it sets."""
        return frozenset(name for level in self.levels.values() for name in level.fields)


@dataclass(frozen=True, kw_only=True)
class Common:
    """Tokens that the reference often emits: what is biased and forbidden must be common, or nothing would change."""

    token: int | None = None
    """To be biased; None where no token's id is known."""
    word: tuple[Token, ...] | None = None
    """To be forbidden, in the form in which the engines take it; None where it is not known."""


def parameters(settings: MatrixSettings) -> tuple[Parameter, ...]:
    """Return the parameters of the matrix; one with nothing but its neutral level is none."""
    penalties = {
        name: getattr(settings, name)
        for name in ("presence_penalty", "frequency_penalty", "repetition_penalty")
        if getattr(settings, name) != getattr(Sampling(), name)
    }
    found = [
        *(_valued(name, getattr(settings, name)) for name in ("temperature", "top_p", "top_k", "min_p")),
        Parameter(
            name="penalties",
            levels=(NEUTRAL, *(Level(label=f"{name} {x:g}", fields={name: x}) for name, x in penalties.items())),
        ),
        _switch("logit_bias", settings.logit_bias, on=settings.logit_bias != 0),
        _switch("bad_words", None, on=settings.bad_words),
        _switch("grammar", settings.grammar, on=settings.grammar is not None),
    ]
    return tuple(parameter for parameter in found if len(parameter.levels) > 1)


def cells(settings: MatrixSettings) -> tuple[Cell, ...]:
    """Return the planned cells: a pure function of the settings. The first has every parameter neutral."""
    named = parameters(settings)
    return tuple(
        Cell(
            number=number,
            levels={
                parameter.name: parameter.levels[level] for parameter, level in zip(named, row, strict=True) if level
            },
        )
        for number, row in enumerate(covering_array([len(parameter.levels) for parameter in named]))
    )


def sampling_of(cell: Cell, common: Common, left_out: frozenset[str] = frozenset()) -> Sampling:
    """Return what a cell asks for; fields that are left out are neutral."""
    said = {name: value for level in cell.levels.values() for name, value in level.fields.items()}
    if "logit_bias" in said:
        said["logit_bias"] = () if common.token is None else ((common.token, said["logit_bias"]),)
    if "bad_words" in said:
        said["bad_words"] = () if common.word is None else (common.word,)
    return Sampling(**{name: value for name, value in said.items() if name not in left_out})


def _valued(name: str, values: tuple[Any, ...]) -> Parameter:
    neutral = getattr(Sampling(), name)
    levels = [Level(label=f"{name} {x:g}", fields={name: x}) for x in dict.fromkeys(values) if x != neutral]
    return Parameter(name=name, levels=(NEUTRAL, *levels))


def _switch(name: str, value: Any, *, on: bool) -> Parameter:
    label = f"{name} {value:+g}" if isinstance(value, float) else name
    return Parameter(name=name, levels=(NEUTRAL, Level(label=label, fields={name: value})) if on else (NEUTRAL,))
