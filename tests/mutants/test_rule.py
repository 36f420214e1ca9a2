"""What each fault of the accept rule does to the law of a step, by enumeration, and to whole completions."""

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.processors import UNFILTERED, SamplingParameters
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.worlds import MARKOV4, WORLDS
from specaudit.engines.reference import ReferenceEngine
from specaudit.mutants import registry

from ..decoding.verify.cells import Prescribed
from ..decoding.verify.exact import step_law, step_lengths, word_law

GREEDY = SamplingParameters(temperature=0)


def verifier(name):
    return registry.get(name).build(MARKOV4, draft_tokens=3).verifier


def markov_laws(model, length):
    """The chain's laws of the next tokens after an empty prompt, given all that was said before each."""
    lasts = [np.array(-1), *(np.indices((4,) * i)[-1] for i in range(1, length))]
    return [model.probabilities(last, UNFILTERED) for last in lasts]


P, Q = markov_laws(MARKOV4.target, 4), markov_laws(MARKOV4.drafter.model, 3)


@pytest.mark.parametrize(
    ("name", "width", "moved"),
    [
        ("resid-from-target", 3, 0.143),
        ("resid-abs", 3, 0.227),
        ("resample-next-row", 3, 0.184),
        ("lenience", 3, 0.106),
        ("lenience:0.9", 3, 0.075),
        ("lenience:0.95", 3, 0.043),
        ("lenience:0.98", 3, 0.017),
        ("lenience:1", 3, 0.0),
        ("accept-raw-p", 3, 0.528),
        ("accept-leq-zero-coin", 3, 0.002),
        ("accept-after-mismatch", 1, 0.0),
        ("accept-after-mismatch", 3, 0.104),
        ("draft0-unverified", 3, 0.080),
        ("block-verify-wrong-residual", 1, 0.0),
        ("block-verify-wrong-residual", 3, 0.011),
        ("match-then-p", 1, 0.086),
        ("inverted-ratio", 1, 0.189),
        ("no-bonus", 3, 0.0),
    ],
)
def test_the_law_of_a_step_moves_by_so_much(name, width, moved):
    # These two come back to a token as a coin rises, which a finer grid to begin with does not miss.
    pieces = 16 if name in {"match-then-p", "inverted-ratio"} else 1
    q, p = Q[:width], P[: width + 1]
    distance = abs(step_law(verifier(name), q, p, pieces=pieces) - word_law(p)).sum() / 2
    assert distance == pytest.approx(moved, abs=5e-4 if moved else 1e-12)


def test_without_a_bonus_token_a_step_emits_less():
    assert step_lengths(verifier("no-bonus"), Q, P) == pytest.approx(2.460, abs=5e-4)
    assert step_lengths(ChainVerifier(), Q, P) == pytest.approx(2.794, abs=5e-4)
    greedy = registry.get("no-bonus").build(MARKOV4).greedy_verifier
    verified = greedy(np.array([[1, 2], [1, 0], [1, 9]]), np.array([[1, 2, 3]] * 3), np.array([2, 2, 0]))
    assert verified.out.tolist() == [[1, 2, -1], [1, 2, -1], [1, -1, -1]]
    assert verified.n_out.tolist() == [2, 2, 1]
    # Without a draft there is no speculation, and the target's token is no bonus.
    assert step_lengths(verifier("no-bonus"), [], P[:1]) == pytest.approx(1)


def test_context_free_tokens_per_step_are_those_of_theory():
    p = [np.broadcast_to([0.5, 0.3, 0.15, 0.05], (4,) * (i + 1)) for i in range(4)]
    q = [np.full((4,) * (i + 1), 0.25) for i in range(3)]
    assert step_lengths(ChainVerifier(), q, p) == pytest.approx(2.533)
    assert step_lengths(verifier("no-bonus"), q, p) == pytest.approx(2.190)


def test_a_coarse_coin_accepts_what_the_target_excludes():
    p, q = np.array([[[0.0, 1.0], [0.5, 0.5]]]), np.array([[[0.5, 0.5]]])
    for coin, out in ((0.9 / 256, 0), (1 / 256, 1)):
        arguments = np.array([[0]]), q, p, np.array([1]), Prescribed(np.array([[coin, 0.5]]))
        assert verifier("accept-leq-zero-coin")(*arguments).out[0, 0] == out
        assert ChainVerifier()(*arguments).out[0, 0] == 1


def test_later_matches_are_kept_at_temperature_0():
    faulty = registry.get("accept-after-mismatch").build(MARKOV4).greedy_verifier
    draft, target = np.array([[1, 2, 3], [0, 0, 0], [1, 0, 3]]), np.array([[1, 0, 3, 2]] * 3)
    num_draft = np.array([3, 3, 2])
    verified = faulty(draft, target, num_draft)
    assert verified.out.tolist() == [[1, 0, 3, 2], [1, 0, 3, -1], [1, 0, 3, -1]]
    assert verified.n_accepted.tolist() == [3, 2, 2]
    assert GreedyVerifier()(draft, target, num_draft).n_accepted.tolist() == [1, 0, 2]


def complete(decoder, requests, **options):
    prompts = np.empty((requests, 0), dtype=int)
    return decoder.generate(prompts, np.arange(requests), max_tokens=6, **options).tokens


def test_padded_ids_win_residuals():
    decoder = registry.get("vocab-pad-leak").build(MARKOV4, draft_tokens=3)
    tokens = complete(decoder, 4_000)
    assert decoder.world.vocabulary_size == 8
    assert (decoder.world.target.probabilities(np.arange(-1, 8), UNFILTERED)[:, 4:] == 0).all()
    # Four padded ids hold a fifth of what is left; about half of the steps end in a replacement.
    assert 0.03 < (tokens >= 4).mean() < 0.08
    honest = SpeculativeDecoder(decoder.world, draft_tokens=3)
    assert complete(honest, 4_000).max() == 3


def test_a_padded_decoder_finds_the_tokens_in_a_text_that_its_target_finds():
    padded, plain = (
        ReferenceEngine(decoder)
        for decoder in (
            registry.get("vocab-pad-leak").build(MARKOV4, draft_tokens=3),
            SpeculativeDecoder(MARKOV4, draft_tokens=0),
        )
    )
    assert padded.vocabulary_size > plain.vocabulary_size
    assert padded.encode("The quick brown fox") == plain.encode("The quick brown fox")


def test_padding_needs_chains():
    with pytest.raises(ValueError, match="world transformer8 is not one of Markov chains"):
        registry.get("vocab-pad-leak").build(WORLDS["transformer8"])


RULES = [
    "resid-abs",
    "resample-next-row",
    "lenience",
    "accept-raw-p",
    "accept-leq-zero-coin",
    "accept-after-mismatch",
    "block-verify-wrong-residual",
    "match-then-p",
    "inverted-ratio",
    "no-bonus",
    "vocab-pad-leak",
]


@pytest.mark.parametrize("name", RULES)
def test_whole_completions_come_of_it(name):
    mutant = registry.get(name)
    assert mutant.family == "rule"
    tokens = complete(mutant.build(WORLDS[mutant.world], draft_tokens=3), 2_000)
    assert tokens.shape == (2_000, 6)
    assert (tokens >= 0).all()
    assert (tokens != complete(SpeculativeDecoder(MARKOV4, draft_tokens=3), 2_000)).any()


@pytest.mark.parametrize("name", sorted(set(RULES) - {"accept-after-mismatch"}))
def test_greedy_tokens_stay_right(name):
    faulty = complete(registry.get(name).build(MARKOV4, draft_tokens=3), 3, parameters=GREEDY)
    np.testing.assert_array_equal(faulty, complete(SpeculativeDecoder(MARKOV4), 3, parameters=GREEDY))
