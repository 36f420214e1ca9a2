import numpy as np
import pytest

from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import softmax
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.worlds import MARKOV4, WORLDS, SmallModel, World
from specaudit.mutants.rule import ResidualFromTarget

from .enumeration import chain_law, word_law

COIN = MarkovModel([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])


def test_worlds_are_found_by_name():
    assert all(world.name == name for name, world in WORLDS.items())
    assert {"markov4", "markov4-lookup", "transformer8", "transformer8-eagle", "recurrent8"} <= set(WORLDS)
    assert MARKOV4.vocabulary_size == 4
    assert MARKOV4.eos is None


def test_markov4_separates_faults_at_well_filled_cells():
    law = chain_law(MARKOV4.target, -1, 3)
    assert law.min() == pytest.approx(5.8e-4, rel=0.01)
    np.testing.assert_allclose(word_law(ChainVerifier(), MARKOV4, 3, 3), law, atol=1e-12)
    faulty = word_law(ResidualFromTarget(), MARKOV4, 3, 3)
    assert abs(faulty - law).sum() / 2 == pytest.approx(0.174, abs=5e-4)


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_drafts(name):
    world = WORLDS[name]
    spoken = np.array([[0, 1, 2, 3, 0, 1]])
    count = np.array([1 + spoken.shape[1]])
    said = np.column_stack([[-1], spoken])
    features = world.target.forward(said, count, world.target.cache(1), np.array([0])).features
    sequences = Sequences(
        slots=np.array([0]),
        tokens=spoken,
        lengths=np.array([6]),
        features=None if features is None else features[:, -2],
    )
    drafts = world.drafter(1).draft(sequences, np.array([2]), np.array([[0.1, 0.9]]), lambda logits, _: softmax(logits))
    assert drafts.count == [2]
    assert drafts.q.shape == (1, 2, world.vocabulary_size)


def test_vocabularies_must_agree():
    with pytest.raises(ValueError, match="world odd: the target has 4 tokens, the drafter 2"):
        World(name="odd", target=MARKOV4.target, drafter=SmallModel(model=COIN))


@pytest.mark.parametrize("eos", [-1, 2])
def test_eos_must_be_a_token(eos):
    with pytest.raises(ValueError, match=f"eos {eos} is not one of 2 tokens"):
        World(name="coin", target=COIN, drafter=SmallModel(model=COIN), eos=eos)
