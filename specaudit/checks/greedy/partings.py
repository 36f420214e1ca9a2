"""Where a greedy completion parts from the plain target's, and by how much the target would have had it otherwise.

The *gap* of a position is how many nats the reference prefers its own token to the emitted one, in the context that it
was emitted in; its *margin* is how many it prefers its first choice to its second. Up to where two completions part
their contexts are the same, so that the reference's own logprobs tell both; behind it only teacher forcing does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from specaudit.laws.contexts import ExactLaws
from specaudit.model.completion import Completion, TokenLogprobs
from specaudit.model.evidence import Evidence
from specaudit.model.request import Prompt, Sampling, Token


@dataclass(frozen=True, kw_only=True)
class Parting:
    """The first token at which a prompt's two completions differ."""

    prompt: Prompt
    position: int
    emitted: Token | None
    expected: Token | None
    """None where a completion has ended."""
    gap: float | None
    """In nats; None where it is not known."""

    @property
    def is_tie(self) -> bool:
        """Both tokens are exactly as likely: either choice is right."""
        return self.gap == 0.0


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One prompt's completion beside the plain target's."""

    prompt_index: int
    prompt: Prompt
    parting: Parting | None
    """None where they are equal token for token."""
    gaps: tuple[float, ...]
    """Of the positions that can be judged, up to where they part and, where it was scored, behind that; in nats. None
    are needed where the law is exactly known, since there is no noise then."""
    margins: tuple[float, ...]
    """Of the same positions."""

    @property
    def largest_gap(self) -> float:
        """The largest of them, that at which the two part included; 0 where none is known."""
        apart = self.parting.gap if self.parting is not None and self.parting.gap is not None else 0.0
        return max(apart, *self.gaps, 0.0)


class Reader:
    """Reads gaps and margins from what the reference revealed."""

    def __init__(self, evidence: Evidence) -> None:
        law = evidence.laws.get("reference")
        self._laws = None if law is None else ExactLaws(law, Sampling())

    def compare(
        self,
        prompt_index: int,
        prompt: Prompt,
        ours: Completion,
        plain: Completion,
        scores: Sequence[TokenLogprobs] | None = None,
    ) -> Compared:
        """Compare two completions that were to be equal.

        Args:
            prompt_index: Of the prompt, within its stage.
            prompt: The prompt.
            ours: The one that is judged.
            plain: The reference's, with logprobs where it reports any.
            scores: What the reference reported of `ours` when it was teacher-forced; None where it was not asked.
        """
        emitted, expected = ours.tokens or (), plain.tokens or ()
        pairs = enumerate(zip_longest(emitted, expected))
        apart = next((place for place, (a, b) in pairs if a != b), None)
        parting = None
        if apart is not None:
            mine, theirs = (row[apart] if apart < len(row) else None for row in (emitted, expected))
            gap = self._gap(prompt, plain, apart, mine, theirs)
            parting = Parting(prompt=prompt, position=apart, emitted=mine, expected=theirs, gap=gap)
        judged = [] if self._laws else _shared(plain, len(expected) if apart is None else apart)
        if parting is not None and parting.gap is not None and not self._laws:
            margin = _margin(_told(plain, parting.position))
            judged += [] if margin is None else [(parting.gap, margin)]
        if apart is not None and scores is not None:
            judged += [one for place in range(apart + 1, len(emitted)) if (one := _forced(scores, place)) is not None]
        return Compared(
            prompt_index=prompt_index,
            prompt=prompt,
            parting=parting,
            gaps=tuple(gap for gap, _ in judged),
            margins=tuple(margin for _, margin in judged),
        )

    def _gap(
        self, prompt: Prompt, plain: Completion, place: int, emitted: Token | None, expected: Token | None
    ) -> float | None:
        """Nats by which the reference prefers its own token where the two part."""
        if emitted is None or expected is None:
            return None
        if self._laws is not None and not isinstance(prompt, str):
            law = self._laws.next_law(self._laws.key((*prompt, *(plain.tokens or ())[:place]))) or {}
            tiny = np.finfo(float).tiny
            return float(np.log(law.get(expected, tiny)) - np.log(law.get(emitted, tiny)))
        told = _told(plain, place)
        top = dict(told.top) if told is not None else {}
        if expected not in top:
            return None
        if emitted in top:
            return abs(top[expected] - top[emitted])  # whichever of the two it says is ahead
        least = top[expected] - min(top.values())  # it is less likely than all reported: at least so much
        return least if least > 0 else None


def forced(scores: Sequence[TokenLogprobs]) -> list[tuple[float, float]]:
    """Return gap and margin of every token that was teacher-forced, where both are known."""
    return [one for place in range(len(scores)) if (one := _forced(scores, place)) is not None]


def _shared(plain: Completion, length: int) -> list[tuple[float, float]]:
    """Positions at which both emitted the same: no gap, whatever the margin."""
    margins = (_margin(_told(plain, place)) for place in range(length))
    return [(0.0, margin) for margin in margins if margin is not None]


def _forced(scores: Sequence[TokenLogprobs], place: int) -> tuple[float, float] | None:
    told = scores[place] if place < len(scores) else None
    if told is None or (margin := _margin(told)) is None:
        return None
    least = min(value for _, value in told.top)
    logprob = dict(told.top).get(told.token, told.logprob)
    return max(0.0, told.top[0][1] - (least if logprob is None else logprob)), margin


def _told(completion: Completion, place: int) -> TokenLogprobs | None:
    logprobs = completion.logprobs
    return None if logprobs is None or place >= len(logprobs) else logprobs[place]


def _margin(told: TokenLogprobs | None) -> float | None:
    return None if told is None or len(told.top) < 2 else told.top[0][1] - told.top[1][1]
