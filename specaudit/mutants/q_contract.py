"""Faults of the contract between drafter and verifier: each draft is declared with the law that it was drawn from."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.block import Block
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.interface import Drafter, Drafts, Law, Sequences
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.precision import Float8, Precision, QuantisedTransformer
from specaudit.decoding.processors import one_hot_argmax, softmax
from specaudit.decoding.streams import RowStreams
from specaudit.decoding.verify.verified import Verified
from specaudit.decoding.worlds import SmallModel, World
from specaudit.mutants.registry import Dose, register

Process = Callable[[FloatArray], FloatArray]
"""Makes the law that the request asks for of the drafter's logits, both `[b, V]`."""


@dataclass(frozen=True, kw_only=True)
class Misdeclaring:
    """A drafter that draws from one law and declares another.

    Attributes:
        drafter: whose logits are drafted from.
        split: makes of the logits the law to draw from and the law to declare, both `[b, V]`.
    """

    drafter: Drafter
    split: Callable[[FloatArray, Process], tuple[FloatArray, FloatArray]]

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Hand the drafter the one law, and the verifier the other."""
        declared: list[FloatArray] = []

        def drawn_from(logits: FloatArray, drafts: IntArray) -> FloatArray:
            drawn, told = self.split(logits, lambda other: law(other, drafts))
            declared.append(told)
            return drawn

        drafts = self.drafter.draft(sequences, num_draft, uniforms, drawn_from)
        for i, told in enumerate(declared):
            drafts.q[:, i] = told
        return drafts

    def release(self, slots: IntArray) -> None:
        """Forget the sequences in those slots `[b]`."""
        self.drafter.release(slots)


class MisdeclaringDecoder(SpeculativeDecoder, ABC):
    """A decoder whose drafter draws from one law and declares another; a lookup, which draws nothing, stays honest."""

    @abstractmethod
    def split(self, logits: FloatArray, process: Process) -> tuple[FloatArray, FloatArray]:
        """Make of the drafter's logits the law to draw from and the law to declare, all `[b, V]`."""

    def draft(self, drafter: Drafter, block: Block, streams: RowStreams) -> Drafts:
        """Draft as ever, with a drafter that misdeclares."""
        return super().draft(Misdeclaring(drafter=drafter, split=self.split), block, streams)


class DeclaredQRaw(MisdeclaringDecoder):
    """Drafts are drawn under the request's temperature and filters, and declared with the drafter's raw law.

    At temperature 1 without filters the two are one.

    Seen: huggingface/transformers issue 47932.

    Killed by: LAW1 (sampled).
    """

    def split(self, logits: FloatArray, process: Process) -> tuple[FloatArray, FloatArray]:
        """Draw from the processed law, declare the raw one."""
        return process(logits), softmax(logits)


class ArgmaxDraftSoftQ(MisdeclaringDecoder):
    """The drafter proposes its most likely token, and declares the soft law as if it had drawn it.

    Seen: huggingface/transformers issue 32867.

    Killed by: LAW1 (sampled).
    """

    def split(self, logits: FloatArray, process: Process) -> tuple[FloatArray, FloatArray]:
        """Draw from the argmax, declare the law."""
        soft = process(logits)
        return one_hot_argmax(soft), soft


class DraftTempMismatch(MisdeclaringDecoder):
    """Drafts are drawn at one temperature and declared at another.

    Seen: a classic of drafters with a temperature setting of their own.

    Killed by: LAW1 (sampled).

    Args:
        world: as for every decoder.
        dose: temperature of the drafts, times that of the request.
        options: as for every decoder.
    """

    def __init__(self, world: World, *, dose: float, **options: Any) -> None:
        super().__init__(world, **options)
        self.dose = dose

    def split(self, logits: FloatArray, process: Process) -> tuple[FloatArray, FloatArray]:
        """Draw at `dose` times the temperature that is declared."""
        return process(logits / self.dose), process(logits)


class LookupAlwaysAccept(SpeculativeDecoder):
    """What a lookup proposes is accepted with the ratio 1, as if the target had been asked for nothing else.

    Seen: openvinotoolkit/openvino.genai pull request 2331.

    Killed by: LAW1 (sampled).
    """

    def verify(self, block: Block, drafts: Drafts, p: FloatArray, coins: FloatArray) -> Verified:
        """Declare the target's own law for what was never drawn from it."""
        return super().verify(block, replace(drafts, q=p[:, :-1]), p, coins)


@dataclass(frozen=True, kw_only=True)
class Fp8Drafting:
    """Makes drafters that draw in FP8 and declare in full precision.

    Attributes:
        model: the drafter's model in full precision.
    """

    model: Transformer

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return self.model.vocabulary_size

    def __call__(self, slots: int) -> "Fp8QDeclaredBf16":
        """Return a drafter that holds that many sequences at once."""
        return Fp8QDeclaredBf16(self.model, slots)


class Fp8QDeclaredBf16(SmallModelDrafter):
    """Drafts are drawn by a drafter in FP8 (e5m2), and declared with the laws of the same drafter in full precision.

    Seen: the second way in which FP8 breaks exactness without touching the accept rule; see `decoding.precision`.

    Killed by: LAW1 (sampled).

    Args:
        model: the drafter in full precision.
        slots: as for every drafter.
    """

    def __init__(self, model: Transformer, slots: int) -> None:
        coarse = Precision(weights=Float8.E5M2, activations=Float8.E5M2)
        super().__init__(QuantisedTransformer(model, coarse), slots)
        self._declaring = SmallModelDrafter(model, slots)

    def draft(self, sequences: Sequences, num_draft: IntArray, uniforms: FloatArray, law: Law) -> Drafts:
        """Let both precisions read the same drafts; draw from the one, declare the other."""
        batch, width = uniforms.shape
        tokens = np.zeros((batch, width), dtype=np.int64)
        q = np.zeros((batch, width, self.vocabulary_size))
        drawing = self.logits(sequences, num_draft, tokens)
        declaring = self._declaring.logits(sequences, num_draft, tokens)
        for i, (coarse, fine) in enumerate(zip(drawing, declaring, strict=True)):
            tokens[:, i], _ = self.draw(coarse, tokens[:, :i], uniforms[:, i], law)
            q[:, i] = law(fine, tokens[:, :i])
        return Drafts(tokens=tokens, q=q, count=num_draft)

    def release(self, slots: IntArray) -> None:
        """Forget the sequences in those slots `[b]`."""
        super().release(slots)
        self._declaring.release(slots)


def _fp8_drafted(world: World, **options: Any) -> SpeculativeDecoder:
    """Let the world's small model draft in FP8.

    Raises:
        ValueError: the world drafts with something else than a small transformer.
    """
    maker = world.drafter
    if not (isinstance(maker, SmallModel) and isinstance(maker.model, Transformer)):
        raise ValueError(f"world {world.name} has no small transformer for a drafter; this fault needs one")
    return SpeculativeDecoder(replace(world, drafter=Fp8Drafting(model=maker.model)), **options)


register("declared-q-raw", family="q-contract", fault=DeclaredQRaw, build=DeclaredQRaw)
register("argmax-draft-soft-q", family="q-contract", fault=ArgmaxDraftSoftQ, build=ArgmaxDraftSoftQ)
register(
    "draft-temp-mismatch",
    family="q-contract",
    fault=DraftTempMismatch,
    build=DraftTempMismatch,
    dose=Dose(default=0.5, low=0.05, high=20),
)
register(
    "lookup-always-accept",
    family="q-contract",
    fault=LookupAlwaysAccept,
    build=LookupAlwaysAccept,
    world="markov4-lookup",
)
register("fp8-q-declared-bf16", family="precision", fault=Fp8QDeclaredBf16, build=_fp8_drafted, world="transformer8")
