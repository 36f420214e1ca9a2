"""What a decoder counts over its life: accepted, emitted, trimmed and undrafted, kept apart."""

from dataclasses import dataclass, fields

import numpy as np

from specaudit.decoding.arrays import IntArray


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one step did to each row of the batch.

    Attributes:
        drafted: drafts put before the verifier `[B]`; 0 is an undrafted step.
        verified: drafts that the verifier accepted `[B]`, those past a stop token included.
        emitted: tokens that left the engine `[B]`, the stop token last.
        computed: tokens that the target read, those of prompts included, over all rows.
        replayed: tokens among them that it had read before, over all rows.
    """

    drafted: IntArray
    verified: IntArray
    emitted: IntArray
    computed: int = 0
    replayed: int = 0

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
        requests_failed: requests whose rules left no token to go on with.
        computed_tokens: tokens that the target read: prompts, drafts, and what was replayed.
        replayed_tokens: tokens among them that it read again after a preemption.
        wasted_tokens: tokens planned ahead for requests that had ended by then.
        restarts: how often the process has begun anew, with all others at 0.
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
    requests_failed: int = 0
    computed_tokens: int = 0
    replayed_tokens: int = 0
    wasted_tokens: int = 0
    restarts: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        pairs = zip(self.accepted_per_position, other.accepted_per_position, strict=True)
        totals = {one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)[1:]}
        return Counters(accepted_per_position=tuple(a + b for a, b in pairs), **totals)


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
        drafted = self.drafted(step)
        self.counters += Counters(
            accepted_per_position=self.accepted_per_position(step),
            drafts=int(np.count_nonzero(drafted)),
            draft_tokens=int(drafted.sum()),
            accepted=self.accepted(step),
            undrafted=int(np.count_nonzero(drafted == 0)),
            trimmed=int(step.trimmed.sum()),
            generation_tokens=int(step.emitted.sum()),
            computed_tokens=step.computed,
            replayed_tokens=step.replayed,
        )

    def waste(self, tokens: int) -> None:
        """Count tokens that were planned for requests which had ended by then."""
        self.counters += Counters(accepted_per_position=(0,) * self._width, wasted_tokens=tokens)

    def finish(self, *, stopped: int, at_length: int, prompt_tokens: int, failed: int = 0) -> None:
        """Count requests that ended, by reason, and the prompt tokens they brought."""
        self.counters += Counters(
            accepted_per_position=(0,) * self._width,
            prompt_tokens=prompt_tokens,
            requests_stopped=stopped,
            requests_at_length=at_length,
            requests_failed=failed,
        )

    def drafted(self, step: Step) -> IntArray:
        """Say how many drafts of each row count `[B]`."""
        return step.drafted

    def kept(self, step: Step) -> IntArray:
        """Say how many drafts of each row count as accepted `[B]`: those that were emitted."""
        return step.accepted

    def accepted(self, step: Step) -> int:
        """Count the accepted drafts of a step."""
        return int(self.kept(step).sum())

    def accepted_per_position(self, step: Step) -> tuple[int, ...]:
        """Count the rows whose draft was accepted, for each position 0…K−1."""
        reached = np.bincount(self.kept(step), minlength=self._width + 1)[::-1].cumsum()[::-1]
        return tuple(reached[1:].tolist())
