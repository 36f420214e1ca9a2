"""What faults of verification rows have in common: rows without drafts are right, whatever stands beside them."""

from typing import ClassVar

import numpy as np

from specaudit.decoding.arrays import FloatArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafts
from specaudit.decoding.processors import Processors


class OnVerification(SpeculativeDecoder):
    """A decoder whose rows with drafts get their laws from faulty processors.

    Attributes:
        faulty: makes the target's laws of those rows.
    """

    faulty: ClassVar[Processors]

    def target(self, block: Block, drafts: Drafts, logits: FloatArray) -> FloatArray:
        """Make the laws of rows with drafts wrongly."""
        right = super().target(block, drafts, logits)
        drafted = drafts.count[:, None, None] > 0
        return np.where(drafted, self.laws(self.faulty, block, drafts, logits), right)
