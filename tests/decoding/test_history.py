import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.automata import Automata
from specaudit.decoding.history import History
from specaudit.decoding.tree.topology import Topology

from .strategies import steady

V = 4
TOKENS = st.lists(st.integers(0, V - 1), max_size=7)


@st.composite
def cases(draw):
    """A history, and the output before every law as a list."""
    rows = draw(st.integers(1, 3))
    parents = [draw(st.integers(0, node)) for node in range(draw(st.integers(0, 4)))]
    parents.sort()
    topology = Topology(_levels(parents))
    prompts, outputs = ([draw(TOKENS) for _ in range(rows)] for _ in range(2))
    drafts = [
        draw(st.lists(st.integers(0, V - 1), min_size=len(topology), max_size=len(topology))) for _ in range(rows)
    ]
    tokens = np.full((rows, 15), -1)
    for row, said in zip(tokens, map(list.__add__, prompts, outputs), strict=True):
        row[: len(said)] = said
    history = History(
        tokens=tokens,
        prompt_lengths=np.array([len(prompt) for prompt in prompts]),
        lengths=np.array([len(prompt) + len(output) for prompt, output in zip(prompts, outputs, strict=True)]),
        drafts=np.array(drafts, dtype=int).reshape(rows, len(topology)),
        before=topology.visible[:, 1:],
        grammar=np.zeros(rows, dtype=int),
    )
    ways = [[node for node in way if node > 0] for way in topology.lineage.tolist()]
    before = [
        [output + [draft[node - 1] for node in way] for way in ways]
        for output, draft in zip(outputs, drafts, strict=True)
    ]
    return history, prompts, before


def _levels(parents):
    """Parents of a tree whose levels go in order."""
    depths, kept = [0], []
    for parent in parents:
        parent = min(parent, len(kept))
        if depths[parent] + 1 >= depths[-1]:
            kept.append(parent)
            depths.append(depths[parent] + 1)
    return kept


@steady
@given(cases(), TOKENS)
def test_each_law_sees_the_drafts_on_the_way_to_it(case, word):
    history, prompts, before = case
    assert history.output_lengths.tolist() == [[len(said) for said in row] for row in before]
    assert history.in_prompt(V).tolist() == [[token in prompt for token in range(V)] for prompt in prompts]
    counts = [[[said.count(token) for token in range(V)] for said in row] for row in before]
    assert history.output_counts(V).tolist() == counts
    ends = [[said[len(said) - len(word) :] == word and len(said) >= len(word) for said in row] for row in before]
    assert history.ends_with(tuple(word)).tolist() == ends
    for index in range(len(prompts)):
        assert history.rows(np.array([index])).output_counts(V).tolist() == counts[index : index + 1]


@steady
@given(cases())
def test_automata_run_along_the_way(case):
    history, _, before = case
    automata = Automata(V)
    # The state tells the last two tokens.
    start = automata.add(np.arange(V**2)[:, None] % V * V + np.arange(V))
    state = automata.run(np.full(len(before), start), history.tokens, np.zeros(len(before), dtype=int))
    for row, output in enumerate(before):
        for token in output[0]:
            state[row] = automata.next[state[row], token]
    history.grammar[:] = state
    for states, row in zip(history.states(automata), before, strict=True):
        for found, said in zip(states - start, row, strict=True):
            last, one_before = ([0, 0, *said][-1], [0, 0, *said][-2])
            assert found == one_before * V + last
