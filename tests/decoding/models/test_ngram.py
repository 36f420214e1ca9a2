import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.lexemes import RENAME_PROMPT, RENAMED, encode, lexemes, spell
from specaudit.decoding.models.ngram import NgramModel
from specaudit.decoding.parameters import SamplingParameters
from specaudit.decoding.worlds import CODE

from ..strategies import steady

TEXT = [0, 1, 2, 0, 1, 3, 0, 1, 2, 2]
MODEL = NgramModel(TEXT, 4, order=3, discount=0.5)


def law_behind(context):
    """The definition, by counting."""
    law = np.full(4, 1 / 4)
    for size in range(3):
        if size > len(context):
            break
        tail = context[len(context) - size :]
        counts = np.zeros(4)
        for place in range(size, len(TEXT)):
            if TEXT[place - size : place] == tail:
                counts[TEXT[place]] += 1
        law = (counts + 0.5 * law) / (counts.sum() + 0.5)
    return law


def read(cache, slots, tokens, count=None):
    tokens = np.array(tokens)
    count = np.full(len(tokens), tokens.shape[1]) if count is None else np.array(count)
    return np.exp(MODEL.forward(tokens, count, cache, np.array(slots)).logits)


@steady
@given(st.lists(st.integers(0, 3), max_size=9), st.integers(1, 4))
def test_laws_are_counted_however_the_text_is_cut(tokens, chunk):
    cache = MODEL.cache(2)
    said = [-1, *tokens]
    for first in range(0, len(said), chunk):
        part = said[first : first + chunk]
        laws = read(cache, [1], [part])[0]
        for i, law in enumerate(laws):
            np.testing.assert_allclose(law, law_behind(said[1 : first + i + 1]), atol=1e-12)
        cache.commit(np.array([1]), np.arange(len(part))[None])
    assert cache.lengths.tolist() == [0, len(said)]


def test_what_is_not_committed_is_forgotten():
    cache = MODEL.cache(2)
    read(cache, [0, 1], [[-1, 0, 1], [-1, 2, 3]])
    cache.commit(np.array([0, 1]), np.array([[0, 1, 2], [0, -1, -1]]))
    laws = read(cache, [0, 1], [[2], [0]])
    np.testing.assert_allclose(laws[:, 0], [law_behind([0, 1, 2]), law_behind([0])])
    cache.release(np.array([0]))
    assert cache.lengths.tolist() == [0, 1]
    np.testing.assert_allclose(read(cache, [0], [[-1]])[0, 0], law_behind([]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 1}, "order must be 2 to 9, less than the text has tokens, got 1"),
        ({"order": 10}, "got 10"),
        ({"discount": 0}, "discount must be above 0, got 0"),
    ],
)
def test_bad_models_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        NgramModel(TEXT, 4, **options)


def test_trees_are_refused():
    with pytest.raises(ValueError, match="reads chains, no trees"):
        MODEL.forward(
            np.zeros((1, 1), int), np.array([1]), MODEL.cache(1), np.array([0]), visible=np.ones((1, 1), bool)
        )


def test_the_code_is_renamed():
    prompt = np.array([encode(RENAME_PROMPT, CODE.texts)])
    greedy = SamplingParameters(temperature=0)
    generation = SpeculativeDecoder(CODE, draft_tokens=5).generate(
        prompt, np.arange(1), max_tokens=60, parameters=greedy
    )
    assert spell(generation.tokens[0, : generation.lengths[0]], CODE.texts) == RENAMED
    assert generation.stopped.all()


@pytest.mark.parametrize("text", [RENAME_PROMPT, RENAMED, "", "  a(b) = c\n\n"])
def test_a_text_is_cut_and_spelt(text):
    texts = lexemes(text)
    assert spell(encode(text, texts), texts) == text


def test_what_no_token_spells_is_refused():
    with pytest.raises(ValueError, match="no token spells what begins with 'z'"):
        encode("axyz", ("a", "xy"))
