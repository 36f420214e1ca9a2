import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.drafters.small_model import SmallModelDrafter
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.models.recurrent import RecurrentModel
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.processors import softmax

from ..strategies import steady
from .conformance import check_contract, check_drawn_from_q
from .fakes import HistoryModel, law, sequences

V = 5
MODELS = {
    "transformer": Transformer.from_seed(Shape(vocabulary=8, layers=2), 0),
    "recurrent": RecurrentModel.from_seed(8, 16, seed=0),
    "Markov chain": MarkovModel(np.full(8, 1 / 8), np.random.default_rng(0).dirichlet(np.ones(8), 8)),
}


def make(slots=4, **options):
    return SmallModelDrafter(HistoryModel(V), slots, **options)


def drafted(drafter, rows, num_draft, *, slots=None, seed=0, width=4):
    uniforms = np.random.default_rng(seed).random((len(rows), width))
    return drafter.draft(sequences(rows, slots), np.asarray(num_draft), uniforms, law)


def assert_read_rightly(drafts, rows):
    """Each law is the model's behind the whole sequence and the drafts before."""
    model = HistoryModel(V)
    for row, tokens, q, count in zip(rows, drafts.tokens.tolist(), drafts.q, drafts.count, strict=True):
        for i in range(count):
            np.testing.assert_array_equal(q[i], softmax(model.behind([*row, *tokens[:i]])))


def test_contract():
    rows = sequences([[], [1, 2, 3, 4, 0], [2], [0, 0]])
    check_contract(make, rows, np.array([4, 2, 0, 3]), law, width=4)


def test_drafts_have_their_law():
    check_drawn_from_q(make, sequences([[1, 2]]), law, width=2, cells=512)


def test_a_greedy_draft_has_a_one_hot_law():
    drafts = drafted(make(greedy=True), [[1, 2]], [4])
    model = HistoryModel(V)
    expected = []
    for _ in range(4):
        expected.append(int(model.behind([1, 2, *expected]).argmax()))
    assert drafts.tokens[0].tolist() == expected
    assert drafts.q[0].argmax(axis=1).tolist() == expected
    assert (drafts.q.max(axis=2) == 1).all()


@pytest.mark.parametrize("accepted", range(5))
def test_the_next_block_reads_only_what_is_new(accepted):
    drafter = make()
    first = drafted(drafter, [[1, 2]], [4]).tokens[0].tolist()
    wrong = (first[accepted] + 1) % V if accepted < 4 else 0
    row = [1, 2, *first[:accepted], wrong]
    drafter._model.passes.clear()
    assert_read_rightly(drafted(drafter, [row], [1], seed=1), [row])
    # Three of the four drafts have been read; the fourth and the target's own token never.
    assert drafter._model.passes == [[row[2 + min(accepted, 3) :]]]


def test_the_last_token_is_read_again_if_a_step_emitted_nothing_beyond_the_drafts():
    drafter = make()
    first = drafted(drafter, [[1, 2]], [4]).tokens[0].tolist()
    for row in ([1, 2, first[0]], [1, 2, *first[:3]]):
        assert_read_rightly(drafted(drafter, [row], [1]), [row])


def test_a_match_behind_a_rejection_does_not_count():
    drafter = make()
    first = drafted(drafter, [[1, 2]], [4]).tokens[0].tolist()
    row = [1, 2, first[0], (first[1] + 1) % V, first[2], 3]
    drafter._model.passes.clear()
    assert_read_rightly(drafted(drafter, [row], [1]), [row])
    assert drafter._model.passes == [[row[3:]]]


def test_steps_without_drafts_are_caught_up_on():
    drafter = make()
    first = drafted(drafter, [[1, 2], [3]], [3, 0])
    assert drafter._cache.lengths.tolist() == [3, 0, 0, 0]
    rows = [[1, 2, first.tokens[0, 0], 4, 4], [3, 0, 1, 2]]
    drafted(drafter, rows, [0, 0])
    rows = [[*row, 2, 3] for row in rows]
    assert_read_rightly(drafted(drafter, rows, [2, 4], seed=3), rows)


def test_a_released_slot_begins_anew():
    drafter = make()
    tokens = drafted(drafter, [[1, 2]], [4]).tokens[0].tolist()
    drafter.release(np.array([0]))
    row = [0, 0, *tokens]
    assert_read_rightly(drafted(drafter, [row], [4]), [row])


def test_a_slot_taken_over_without_release_is_refused():
    drafter = make()
    drafted(drafter, [[1, 2, 3]], [1])
    with pytest.raises(ValueError, match="slot 0: the drafter has read 3 tokens of a sequence of 1; release"):
        drafted(drafter, [[4]], [1])


@steady
@given(data=st.data())
def test_whatever_becomes_of_the_drafts_the_laws_are_those_of_the_sequence(data):
    """Blocks accepted in part, in full or not at all, rows that pause, leave, or give up their slot."""
    drafter = make(slots=3)
    running = {}
    for step in range(6):
        for slot in set(range(3)) - set(running):
            running[slot] = data.draw(st.lists(st.integers(0, V - 1), max_size=4), label="prompt")
        slots = data.draw(st.permutations(range(3)))[: data.draw(st.integers(1, 3))]
        num_draft = data.draw(st.lists(st.integers(0, 4), min_size=len(slots), max_size=len(slots)))
        rows = [running[slot] for slot in slots]
        drafts = drafted(drafter, rows, num_draft, slots=slots, seed=step)
        assert_read_rightly(drafts, rows)
        for slot, tokens, count in zip(slots, drafts.tokens.tolist(), num_draft, strict=True):
            n_accepted = data.draw(st.integers(0, count))
            running[slot] = [*running[slot], *tokens[:n_accepted], data.draw(st.integers(0, V - 1))]
        if data.draw(st.booleans()):
            gone = data.draw(st.integers(0, 2))
            running.pop(gone)
            drafter.release(np.array([gone]))


@pytest.mark.parametrize("name", ["transformer", "recurrent", "Markov chain"])
def test_real_models_read_with_a_cache_what_they_read_without(name):
    model = MODELS[name]
    drafter = SmallModelDrafter(model, 4)
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 8, n).tolist() for n in (0, 5, 2, 9)]
    for step in range(8):
        asked = rng.integers(0, 5, 4)
        drafts = drafted(drafter, rows, asked, seed=step)
        for i in range(4):
            said = np.array([[-1, *rows[i], *drafts.tokens[i, : asked[i]]]])
            whole = model.forward(said, np.array([said.size]), model.cache(1), np.array([0])).logits[0, len(rows[i]) :]
            np.testing.assert_array_equal(drafts.q[i, : asked[i]], softmax(whole[: asked[i]]))
            rows[i] += [*drafts.tokens[i, : rng.integers(0, asked[i] + 1)].tolist(), int(rng.integers(0, 8))]
