"""Faults of the counters; the tokens are right."""

from functools import partial

import numpy as np

from specaudit.decoding.accounting import Accounting, Step
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.mutants.registry import register


class BonusInNumerator(Accounting):
    """The bonus token counts as an accepted draft, so the acceptance rate can exceed 1.

    Seen: sgl-project/sglang, repaired by pull request 23530.
    """

    def accepted(self, step: Step) -> int:
        """Count the tokens that follow a fully accepted draft as well."""
        bonus = (step.drafted > 0) & (step.emitted > step.drafted)
        return super().accepted(step) + int(np.count_nonzero(bonus))


register(
    "bonus-in-numerator",
    family="counters",
    fault=BonusInNumerator,
    build=partial(SpeculativeDecoder, accounting=BonusInNumerator),
)
