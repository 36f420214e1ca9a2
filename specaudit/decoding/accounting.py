"""What a decoder counts over its life: accepted, emitted, trimmed and undrafted, kept apart."""

from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one step did to each row of the batch.

    Attributes:
        drafted: drafts put before the verifier `[B]`; 0 is an undrafted step.
        verified: drafts that the verifier accepted `[B]`, those past a stop token included.
        emitted: tokens that left the engine `[B]`, the stop token last.
    """

    drafted: IntArray
    verified: IntArray
    emitted: IntArray

    @property
    def accepted(self) -> IntArray:
        """Accepted drafts that were emitted `[B]`."""
        return np.minimum(self.verified, self.emitted)

    @property
    def trimmed(self) -> IntArray:
        """Whether a stop inside the accepted drafts cost the step its last token: 0 or 1, `[B]`."""
        return self.accepted + 1 - self.emitted


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Lifetime totals; they add up, and `generation = accepted + drafts + undrafted − trimmed`.

    Attributes:
        accepted_per_position: steps whose draft at position 0…K−1 was accepted, over all drafted steps.
        drafts: steps with at least one draft.
        draft_tokens: drafts put before the verifier.
        accepted: accepted drafts that were emitted.
        undrafted: steps without a draft, such as the one that ends prefill.
        trimmed: replacement or bonus tokens lost to a stop inside the accepted drafts.
        generation_tokens: emitted tokens.
        prompt_tokens: prompt tokens processed.
        requests_stopped: requests that ended at a stop token.
        requests_at_length: requests that ended at their cap.
    """

    accepted_per_position: tuple[int, ...]
    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    undrafted: int = 0
    trimmed: int = 0
    generation_tokens: int = 0
    prompt_tokens: int = 0
    requests_stopped: int = 0
    requests_at_length: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        pairs = zip(self.accepted_per_position, other.accepted_per_position, strict=True)
        return Counters(
            accepted_per_position=tuple(a + b for a, b in pairs),
            drafts=self.drafts + other.drafts,
            draft_tokens=self.draft_tokens + other.draft_tokens,
            accepted=self.accepted + other.accepted,
            undrafted=self.undrafted + other.undrafted,
            trimmed=self.trimmed + other.trimmed,
            generation_tokens=self.generation_tokens + other.generation_tokens,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            requests_stopped=self.requests_stopped + other.requests_stopped,
            requests_at_length=self.requests_at_length + other.requests_at_length,
        )


class Accounting:
    """Keeps the counters of one decoder.

    The totals are replaced, never changed in place: whoever scrapes while a batch is running reads one
    consistent set. What a step adds is a method per counter, so that a fault overrides one.

    Args:
        draft_tokens: number of drafts per step `K`.
    """

    def __init__(self, draft_tokens: int) -> None:
        self._width = draft_tokens
        self.counters = Counters(accepted_per_position=(0,) * draft_tokens)

    def record(self, step: Step) -> None:
        """Count one step of a batch."""
        self.counters += Counters(
            accepted_per_position=self.accepted_per_position(step),
            drafts=int(np.count_nonzero(step.drafted)),
            draft_tokens=self.draft_tokens(step),
            accepted=self.accepted(step),
            undrafted=int(np.count_nonzero(step.drafted == 0)),
            trimmed=int(step.trimmed.sum()),
            generation_tokens=int(step.emitted.sum()),
        )

    def finish(self, *, stopped: int, at_length: int, prompt_tokens: int) -> None:
        """Count requests that ended, by reason, and the prompt tokens they brought."""
        self.counters += Counters(
            accepted_per_position=(0,) * self._width,
            prompt_tokens=prompt_tokens,
            requests_stopped=stopped,
            requests_at_length=at_length,
        )

    def draft_tokens(self, step: Step) -> int:
        """Count the drafts of a step."""
        return int(step.drafted.sum())

    def accepted(self, step: Step) -> int:
        """Count the accepted drafts of a step, after trimming."""
        return int(step.accepted.sum())

    def accepted_per_position(self, step: Step) -> tuple[int, ...]:
        """Count the rows whose draft was accepted, for each position 0…K−1, after trimming."""
        reached = np.bincount(step.accepted, minlength=self._width + 1)[::-1].cumsum()[::-1]
        return tuple(reached[1:].tolist())
