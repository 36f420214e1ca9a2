"""A fault of the accept rule where the vocabulary is padded."""

from dataclasses import replace
from typing import Any

import numpy as np

from specaudit.decoding.arrays import FloatArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import UNFILTERED
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.worlds import SmallModel, World
from specaudit.mutants.registry import register

_PADS = 4


class VocabPadLeak(ChainVerifier):
    """Behind the vocabulary, rows are padded, and the residual of a padded id holds what the memory held: it can win.

    Seen: a security advisory of vllm-project/vllm on recovered ids beyond the vocabulary.

    Killed by: LAW1 (sampled).

    Args:
        vocabulary_size: number of ids that are tokens; those behind are padding.
    """

    def __init__(self, vocabulary_size: int) -> None:
        self.vocabulary_size = vocabulary_size

    def residual(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Leave a twentieth of what a row holds on each padded id."""
        left = super().residual(p, q)
        left[:, self.vocabulary_size :] = left.sum(axis=1, keepdims=True) / 20
        return left


def _padded(world: World, **options: Any) -> SpeculativeDecoder:
    """Pad the world's vocabulary with ids that neither target nor drafter ever gives any probability.

    Raises:
        ValueError: target or drafter of the world is no Markov chain.
    """
    maker = world.drafter
    if not (
        isinstance(world.target, MarkovModel) and isinstance(maker, SmallModel) and isinstance(maker.model, MarkovModel)
    ):
        raise ValueError(f"world {world.name} is not one of Markov chains; this fault needs one")
    padded = replace(
        world, target=_pad(world.target), drafter=replace(maker, model=_pad(maker.model)), texts=None, padding=_PADS
    )
    return SpeculativeDecoder(padded, verifier=VocabPadLeak(world.vocabulary_size), **options)


def _pad(model: MarkovModel) -> MarkovModel:
    """Behind a padded id, the chain starts anew."""
    size = model.vocabulary_size
    laws = np.zeros((size + _PADS + 1, size + _PADS))
    laws[:, :size] = model.probabilities(np.array([*range(size), *[-1] * (_PADS + 1)]), UNFILTERED)
    return MarkovModel(start=laws[-1], transition=laws[:-1])


register("vocab-pad-leak", family="rule", fault=VocabPadLeak, build=_padded)
