"""A transformer as the target, what it says, and how well the baseline does on it."""

from dataclasses import dataclass

import pytest

from specaudit.decoding.drafters.acceptance import Acceptance, measure_acceptance
from specaudit.decoding.drafters.fitting import Corpus, fit_unigram, observe
from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape

DRAFT_TOKENS = 4


@dataclass(frozen=True, kw_only=True)
class Lab:
    target: Transformer
    corpus: Corpus
    held_out: Sequences
    unigram: Acceptance

    def acceptance(self, drafter):
        """On contexts that no fit has seen."""
        return measure_acceptance(drafter, self.target, self.held_out, draft_tokens=DRAFT_TOKENS, seed=3)


@pytest.fixture(scope="session")
def lab():
    target = Transformer.from_seed(Shape(sharpness=4.0, layer_gain=0.35), 0)
    corpus = observe(target, sequences=256, length=48, seed=1)
    held_out = observe(target, sequences=256, length=21, seed=2).contexts(20)
    baseline = measure_acceptance(fit_unigram(corpus), target, held_out, draft_tokens=DRAFT_TOKENS, seed=3)
    return Lab(target=target, corpus=corpus, held_out=held_out, unigram=baseline)
