"""What reported logprobs are instead, where they are not the target's."""

from collections.abc import Sequence

from specaudit.checks.lgp1.scored import Scored

_MOST = 0.9
"""Share of the deviating tokens that an explanation has to fit."""

MODES = ("raw", "processed")
"""Right ways to report logprobs: before temperature and filters, or behind them."""


def deviates(one: Scored, mode: str, nats: float) -> bool:
    """Say whether a reported logprob is off by more than `nats` from the target's in one mode."""
    return mode not in one.says or not abs(one.reported - one.says[mode]) <= nats


def explained(off: Sequence[Scored], mode: str, nats: float) -> str:
    """Name what the deviating logprobs are, the end of a sentence.

    Args:
        off: Tokens whose logprobs deviate in the mode that fits best.
        mode: That mode.
        nats: What is tolerated; an explanation has to come twice as close.
    """
    other = MODES[1 - MODES.index(mode)]
    mixed = f"{other} ones, while first tokens, which are never drafted, have {mode} ones: the server mixes the two"
    fits = {
        "zero logprobs on verification steps, as if every token had been certain: the server computes none there": (
            _are_zero(off)
        ),
        mixed: _close(off, other, nats),
        "the drafter's own": _close(off, "drafter", nats),
        "those of the position before: rows are picked one too early": _close(off, "before", nats),
    }
    name, count = max(fits.items(), key=lambda one: one[1])
    if count < _MOST * len(off):
        return "neither the target's raw nor its processed ones; a drafter's, or another row's, would look like this"
    return name if count == len(off) else f"in {count} of {len(off)} cases {name}"


def _are_zero(off: Sequence[Scored]) -> int:
    return sum(one.reported == 0 and one.says["raw"] < 0 for one in off)


def _close(off: Sequence[Scored], name: str, nats: float) -> int:
    return sum(not deviates(one, name, nats / 2) for one in off)


def describe(mode: str) -> str:
    """Say in words what a mode is."""
    return "raw logprobs, before temperature and filters" if mode == "raw" else "processed logprobs, behind the filters"
