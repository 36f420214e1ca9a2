"""How a world makes its drafters, where that takes more than a model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from specaudit.decoding.drafters.fitting import fit, observe
from specaudit.decoding.drafters.heads import HeadDrafter
from specaudit.decoding.drafters.prompt_lookup import PromptLookupDrafter
from specaudit.decoding.models.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Makes drafters that look the last tokens up in prompt and output.

    Attributes:
        vocabulary_size: number of tokens `V`.
        min_match: fewest tokens that must agree.
        max_match: most tokens that are compared.
    """

    vocabulary_size: int
    min_match: int = 1
    max_match: int = 3

    def __call__(self, slots: int) -> PromptLookupDrafter:
        """Return a drafter; it remembers nothing, so any number of slots will do."""
        return PromptLookupDrafter(self.vocabulary_size, min_match=self.min_match, max_match=self.max_match)


@dataclass(frozen=True, kw_only=True)
class FittedHead:
    """Makes heads that are fitted to their target; all decoders share one, fitted when the first asks for it.

    Attributes:
        target: the model that the head sits on.
        build: makes the head to be fitted.
        seed: of the target's words and of the fit.
    """

    target: Transformer
    build: Callable[[Transformer], HeadDrafter]
    seed: int = 0

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.target.vocabulary_size

    @cached_property
    def head(self) -> HeadDrafter:
        """The fitted head."""
        head = self.build(self.target)
        fit(head, observe(self.target, sequences=256, length=48, seed=self.seed), seed=self.seed)
        return head

    def __call__(self, slots: int) -> HeadDrafter:
        """Return the fitted head; it remembers nothing, so any number of slots will do."""
        return self.head
