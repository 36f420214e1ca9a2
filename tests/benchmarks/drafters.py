"""How good each drafter is, and what fitting it costs. Run it: python -m tests.benchmarks.drafters [SEED].

The baseline in the same run is the unigram drafter. A position's acceptance is Σ min(p, q), given that the drafts
before it were accepted, on contexts that no fit has seen; `accepted` counts the accepted drafts of a step.
"""

import sys
from time import process_time

import numpy as np

from specaudit.decoding.drafters.acceptance import measure_acceptance
from specaudit.decoding.drafters.feature_head import Eagle3Drafter, EagleDrafter
from specaudit.decoding.drafters.fitting import fit, fit_unigram, observe
from specaudit.decoding.drafters.interface import Drafter, Sequences
from specaudit.decoding.drafters.mtp import MultiTokenDrafter
from specaudit.decoding.drafters.parallel_heads import ParallelHeadsDrafter
from specaudit.decoding.drafters.prompt_lookup import PromptLookupDrafter
from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.processors import softmax

CONTEXTS = 1000
DRAFT_TOKENS = 4


def report(name: str, drafter: Drafter, target: Transformer, contexts: Sequences, seconds: float = 0.0) -> None:
    """Print one line: acceptance at each position, accepted drafts per step, time to fit and to draft."""
    uniforms = np.random.default_rng(0).random((CONTEXTS, DRAFT_TOKENS))
    begun = process_time()
    drafter.draft(contexts, np.full(CONTEXTS, DRAFT_TOKENS), uniforms, lambda logits, _: softmax(logits))
    drafter.release(contexts.slots)
    drafting = process_time() - begun
    found = measure_acceptance(drafter, target, contexts, draft_tokens=DRAFT_TOKENS, seed=3)
    positions = "  ".join(f"{share:.3f}" for share in found.per_position)
    print(f"{name:<44} {positions}   {found.accepted:.3f}   {seconds:6.2f} s   {drafting * 1e6 / CONTEXTS:7.1f} µs")


def main() -> None:
    """Fit every head to one target, and print a line for each drafter."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    target = Transformer.from_seed(Shape(sharpness=4.0, layer_gain=0.35), seed)
    begun = process_time()
    corpus = observe(target, sequences=256, length=48, seed=1)
    print(f"{corpus.tokens.size} tokens of the target, in {process_time() - begun:.2f} s of CPU time")
    contexts = observe(target, sequences=CONTEXTS, length=41, seed=2).contexts(40)
    print(f"{'drafter':<44} acceptance at 1 … {DRAFT_TOKENS}           accepted    fitting    draft / row")
    report("unigram (baseline)", fit_unigram(corpus), target, contexts)
    report("prompt lookup, 1 to 3 tokens", PromptLookupDrafter(32), target, contexts)
    heads = {
        "feature head (EAGLE)": EagleDrafter(target, seed=5),
        "EAGLE-3, trained one step ahead": Eagle3Drafter(target, seed=5, unrolled=1),
        "EAGLE-3": Eagle3Drafter(target, seed=5),
        "multi-token prediction, 2 modules": MultiTokenDrafter(target, seed=5),
        "blind parallel heads (Medusa)": ParallelHeadsDrafter(target),
    }
    for name, head in heads.items():
        report(f"{name}: unfitted", head, target, contexts)
        begun = process_time()
        fit(head, corpus, seed=6)
        report(name, head, target, contexts, process_time() - begun)
    report("small model: 2 of 4 layers", SmallModelDrafter(target.truncated(2), CONTEXTS), target, contexts)
    for scale in (0.3, 0.1, 0.03):
        small = SmallModelDrafter(target.perturbed(scale, 9), CONTEXTS)
        report(f"small model: perturbed by {scale}", small, target, contexts)


if __name__ == "__main__":
    main()
