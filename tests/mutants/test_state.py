"""Each fault of memory bends the law of a target that has it; the same drafter beside the right target does not.

A right decoder is taken for a faulty one with probability 1e-4 at each of five comparisons; a fault must stand out
at 1e-9.
"""

import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.recurrent import RecurrentModel
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.tree.topology import Topology
from specaudit.decoding.worlds import MARKOV4, SmallModel, TreeModel, World
from specaudit.mutants import registry
from specaudit.mutants.state import EveryOtherStep, LateKv, TreeSiblingLeak
from tests.decoding.models.reading import prompts, read_all, read_on
from tests.mutants.words import fit, spoken, word_law

SHAPE = Shape(vocabulary=4, width=16, layers=2, heads=2, kv_heads=1, head_width=8, hidden=16, layer_gain=1.0)
TARGET = Transformer.from_seed(SHAPE, seed=3)
RECURRENT = RecurrentModel.from_seed(4, 16, seed=3, sharpness=1.5)
TREE = Topology.branching(2, 2)
WORLDS = {
    "transformer": World(name="small", target=TARGET, drafter=SmallModel(model=TARGET.perturbed(0.3, seed=1))),
    "recurrent": World(name="small", target=RECURRENT, drafter=SmallModel(model=RECURRENT.perturbed(0.3, seed=1))),
    "tree": World(
        name="small",
        target=TARGET,
        drafter=TreeModel(model=TARGET.perturbed(0.3, seed=1), topology=TREE),
        topology=TREE,
    ),
}
LENGTHS = {"transformer": 4, "recurrent": 6, "tree": 4}
DRAFTS = {"transformer": 3, "recurrent": 3, "tree": 6}
PROMPT = [0, 1, 2, 3, 2, 1]
REQUESTS = 6_000
FAULTS = {
    "kv-off-by-one": "transformer",
    "kv-not-rolled-back": "transformer",
    "mask-lower-triangular": "transformer",
    "recurrent-no-rollback": "recurrent",
    "recurrent-stale-after-nodraft": "recurrent",
    "tree-sibling-leak": "tree",
}


@pytest.fixture(scope="module")
def laws():
    """Exact laws of words."""
    return {name: word_law(world.target, PROMPT, LENGTHS[name]) for name, world in WORLDS.items()}


@pytest.mark.parametrize(
    ("name", "options"),
    [("transformer", {}), ("recurrent", {}), ("tree", {}), ("recurrent", {"draft_length": EveryOtherStep()})],
)
def test_the_right_target_says_what_it_would_say_alone(laws, name, options):
    decoder = SpeculativeDecoder(WORLDS[name], draft_tokens=DRAFTS[name], **options)
    assert fit(spoken(decoder, PROMPT, LENGTHS[name], REQUESTS), laws[name]) > 1e-4
    assert 0.2 < decoder.counters.accepted / decoder.counters.draft_tokens < 0.9


@pytest.mark.parametrize(("name", "world"), FAULTS.items())
def test_the_law_moves_with_the_fault(laws, name, world):
    faulty = registry.get(name).build(WORLDS[world], draft_tokens=DRAFTS[world])
    assert fit(spoken(faulty, PROMPT, LENGTHS[world], REQUESTS), laws[world]) < 1e-9


@pytest.mark.parametrize(("name", "world"), FAULTS.items())
def test_plain_decoding_never_shows_it(name, world):
    faulty, right = (
        registry.get(name).build(WORLDS[world], draft_tokens=0),
        SpeculativeDecoder(WORLDS[world], draft_tokens=0),
    )
    assert (spoken(faulty, PROMPT, 4, 200) == spoken(right, PROMPT, 4, 200)).all()


def test_the_first_wrong_token_of_late_kv_is_the_one_behind_the_first_late_entry():
    tokens = prompts(np.random.default_rng(0), 2, 140, 4)
    late = LateKv(SHAPE, TARGET.weights)
    differs = (read_all(late, tokens).logits != read_all(TARGET, tokens).logits).any(axis=(0, 2))
    assert differs.tolist() == [False] * 100 + [True] * 40
    cache, slots = late.cache(2), np.arange(2)
    chunks = [read_on(late, cache, slots, chunk).logits for chunk in np.split(tokens, [60, 99, 101], axis=1)]
    assert (np.concatenate(chunks, axis=1) == read_all(late, tokens).logits).all()


def test_late_kv_moves_the_law_from_its_dose_on():
    prompt = [0, 1, 2, 3, 2, 1, 0, 0, 3, 1, 2, 2, 0, 3]
    counts = spoken(registry.get("late-kv:16").build(WORLDS["transformer"], draft_tokens=3), prompt, 4, REQUESTS)
    law = word_law(TARGET, prompt, 4)
    # Entry 0 is BOS and entry 16 the second token of the word: the third is the first that it can bend.
    assert fit(*(cells.reshape(16, 16).sum(axis=1) for cells in (counts, law))) > 1e-4
    assert fit(counts, law) < 1e-9


def test_siblings_leak_into_a_tree_and_nowhere_else():
    tokens = prompts(np.random.default_rng(1), 2, 9, 4)
    leaky = TreeSiblingLeak(SHAPE, TARGET.weights)
    # Node parents: 0 → 1, 2; 2 → 3. Nodes 1 and 2 are siblings, and node 3 sees only what it should.
    visible = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], dtype=np.bool_)
    depth = np.array([0, 1, 1, 2])
    outs = []
    for model in (leaky, TARGET):
        cache, slots = model.cache(2), np.arange(2)
        read_on(model, cache, slots, tokens[:, :5])
        outs.append(model.forward(tokens[:, 5:], np.full(2, 4), cache, slots, visible=visible, depth=depth).logits)
    differs = (outs[0] != outs[1]).any(axis=(0, 2))
    # One layer down node 3 reads what node 2 made of its sibling.
    assert differs.tolist() == [False, True, True, True]
    assert np.abs(outs[0] - outs[1])[:, 1:].max(axis=(0, 2)).min() > 0.01
    assert (read_all(leaky, tokens).logits == read_all(TARGET, tokens).logits).all()


@pytest.mark.parametrize("name", ["late-kv", *FAULTS])
def test_a_world_without_such_a_memory_is_refused(name):
    with pytest.raises(ValueError, match=r"world markov4 has no .*; this fault needs one, as .*8 has"):
        registry.get(name).build(MARKOV4)
