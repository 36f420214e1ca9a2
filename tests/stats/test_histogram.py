from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.stats.histogram import END, count_words, count_words_by, decode, word_index

LARGE_VOCABULARY = 150_000
"""Its words of four tokens and more have codes beyond 2^62."""


@st.composite
def completions(draw, vocabulary_size):
    """Token matrices `[N, 6]` of completions that stopped anywhere."""
    rows = draw(st.lists(st.lists(st.integers(0, vocabulary_size - 1), max_size=6), min_size=1, max_size=12))
    return np.array([row + [END] * (6 - len(row)) for row in rows])


@pytest.mark.parametrize("vocabulary_size", [2, 300, LARGE_VOCABULARY])
@given(data=st.data(), depth=st.integers(0, 2), length=st.integers(1, 4))
def test_codes_stand_for_their_words_in_lexicographic_order(vocabulary_size, data, depth, length):
    tokens = data.draw(completions(vocabulary_size))
    codes = word_index(tokens, depth, length, vocabulary_size)
    words = [tuple(row) for row in tokens[:, depth : depth + length].tolist()]
    assert [decode(code, length, vocabulary_size) for code in codes] == words
    end_last = [[vocabulary_size if token == END else token for token in word] for word in words]
    assert np.argsort(codes, kind="stable").tolist() == sorted(range(len(words)), key=end_last.__getitem__)


@pytest.mark.parametrize("vocabulary_size", [2, 300, LARGE_VOCABULARY])
@given(data=st.data())
def test_histograms_count_and_merge_like_a_counter(vocabulary_size, data):
    one, two = data.draw(completions(vocabulary_size)), data.draw(completions(vocabulary_size))
    merged = count_words(one, 1, 4, vocabulary_size) + count_words(two, 1, 4, vocabulary_size)
    counted = {decode(code, 4, vocabulary_size): count for code, count in zip(merged.codes, merged.counts, strict=True)}
    assert counted == Counter(tuple(row) for row in np.concatenate([one, two])[:, 1:5].tolist())
    assert merged.total == len(one) + len(two)
    assert (np.diff(merged.codes) > 0).all()


@pytest.mark.parametrize("vocabulary_size", [4, LARGE_VOCABULARY])
def test_cells_keep_their_order_and_the_rest_is_one_lump(vocabulary_size):
    tokens = np.array([[1, 1, 1, 1]] * 5 + [[2, 2, 2, 2]] * 3 + [[3, END, END, END]] * 2)
    words = count_words(tokens, 0, 4, vocabulary_size)
    one, two, unseen = word_index(np.array([[1] * 4, [2] * 4, [0] * 4]), 0, 4, vocabulary_size)
    assert words.over([two, unseen, one]).tolist() == [3, 0, 5, 2]
    assert words.over([]).tolist() == [10]
    with pytest.raises(ValueError, match="named twice"):
        words.over([one, one])


def test_int64_is_left_only_where_it_would_overflow():
    tokens = np.full((2, 4), LARGE_VOCABULARY - 1)
    assert word_index(tokens, 0, 3, LARGE_VOCABULARY).dtype == np.int64
    assert (
        word_index(tokens, 0, 4, LARGE_VOCABULARY)[0]
        == ((LARGE_VOCABULARY + 1) ** 4 - 1) * (LARGE_VOCABULARY - 1) // LARGE_VOCABULARY
    )


def test_the_same_words_are_counted_densely_and_sparsely():
    tokens = np.random.default_rng(0).integers(0, 4, size=(1000, 3))
    dense, sparse = count_words(tokens, 0, 3, 4), count_words(tokens, 0, 3, 1000)
    assert dense.counts.tolist() == sparse.counts.tolist()
    assert [decode(c, 3, 4) for c in dense.codes] == [decode(c, 3, 1000) for c in sparse.codes]


def test_no_completions_give_an_empty_histogram():
    empty = count_words(np.empty((0, 3), dtype=int), 0, 3, 4)
    some = count_words(np.array([[1, 2, 3]]), 0, 3, 4)
    assert empty.total == 0
    assert empty.over([7, 8]).tolist() == [0, 0, 0]
    assert (empty + some).counts.tolist() == [1]


@pytest.mark.parametrize(
    ("tokens", "depth", "message"),
    [
        (np.array([1, 2, 3]), 0, "shape"),
        (np.array([[1.0, np.nan, 3.0]]), 0, "integers"),
        (np.array([[1, 2, 3]]), 2, "not inside 3 tokens"),
        (np.array([[1, 2, 3]]), -1, "not inside"),
        (np.array([[1, 4, 3]]), 0, "between -1 and 3"),
        (np.array([[-2, 1, 3]]), 0, "between -1 and 3"),
        (np.array([[1, END, 3]]), 1, "follows the end"),
    ],
)
def test_bad_tokens_are_named(tokens, depth, message):
    with pytest.raises(ValueError, match=message):
        word_index(tokens, depth, 2, 4)


def test_histograms_of_other_words_do_not_add():
    tokens = np.array([[1, 2, 3]])
    with pytest.raises(ValueError, match="different word lengths or vocabularies"):
        count_words(tokens, 0, 2, 4) + count_words(tokens, 0, 3, 4)


def test_a_code_outside_its_space_is_no_word():
    with pytest.raises(ValueError, match="no word of 2 tokens"):
        decode(25, 2, 4)


@pytest.mark.parametrize("vocabulary_size", [2, LARGE_VOCABULARY])
@given(data=st.data(), length=st.integers(1, 6), seed=st.integers(0, 100))
def test_views_count_every_word_under_the_label_of_its_first_token(vocabulary_size, data, length, seed):
    tokens = data.draw(completions(vocabulary_size))
    labels = np.random.default_rng(seed).integers(-1, 3, size=tokens.shape)
    expected = {}
    for row, names in zip(tokens.tolist(), labels.tolist(), strict=True):
        for start in range(6 - length + 1):
            if names[start] >= 0:
                expected.setdefault(names[start], Counter())[tuple(row[start : start + length])] += 1
    views = count_words_by(labels, tokens, length, vocabulary_size)
    assert list(views) == sorted(expected)
    for label, view in views.items():
        words = [decode(code, length, vocabulary_size) for code in view.codes]
        assert dict(zip(words, view.counts.tolist(), strict=True)) == expected[label]


def test_the_view_by_position_is_the_histogram_at_each_depth():
    tokens = np.random.default_rng(0).integers(0, 3, size=(50, 6))
    views = count_words_by(np.arange(6), tokens, 2, 3)
    assert list(views) == [0, 1, 2, 3, 4]
    for depth, view in views.items():
        alone = count_words(tokens, depth, 2, 3)
        assert (view.codes.tolist(), view.counts.tolist()) == (alone.codes.tolist(), alone.counts.tolist())


def test_no_label_gives_no_view():
    assert count_words_by(np.full(3, -1), np.array([[1, 2, 3]]), 2, 4) == {}
    assert count_words_by(np.arange(3), np.empty((0, 3), dtype=int), 2, 4) == {}


@pytest.mark.parametrize(
    ("labels", "length", "message"),
    [
        (np.arange(2), 1, "labels must be integers"),
        (np.zeros((2, 3), dtype=int), 1, "labels must be integers"),
        (np.array([0.0, np.nan, 1.0]), 1, "labels must be integers"),
        (np.arange(3), 4, "not inside 3 tokens"),
        (np.arange(3), 0, "not inside 3 tokens"),
    ],
)
def test_labels_that_do_not_fit_are_named(labels, length, message):
    with pytest.raises(ValueError, match=message):
        count_words_by(labels, np.array([[1, 2, 3]]), length, 4)
