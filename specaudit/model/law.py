"""A law revealed by an engine in process: exact, for every context."""

from specaudit.model.record import Record


class RevealedLaw(Record, frozen=True, kw_only=True):
    """Raw target log-probabilities of the next token in every context, before any sampling filter.

    The law depends on the last `order` tokens of prompt and completion only, so a finite table holds all of
    it. What the sampling filters make of it is computed by `specaudit.laws`, never by the engine.
    """

    order: int
    contexts: tuple[tuple[int, ...], ...]
    """[C] the contexts: the last `order` tokens, fewer at the start of an empty prompt."""
    logprobs: tuple[tuple[float | None, ...], ...]
    """[C, V] natural logarithms; None stands for minus infinity, which JSON cannot write."""
    drafts: tuple[tuple[float | None, ...], ...] | None = None
    """[C, V] raw log-probabilities of the drafter, where it too is a table. They are bet with and accuse nobody."""
    eos: int | None = None
