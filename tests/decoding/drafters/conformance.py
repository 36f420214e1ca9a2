"""What every drafter must keep, whatever it drafts from."""

import numpy as np

from specaudit.decoding.drafters.interface import Sequences


def subset(sequences, rows):
    """Those rows alone, their padding cut."""
    lengths = sequences.lengths[rows]
    features = None if sequences.features is None else sequences.features[rows]
    tokens = sequences.tokens[rows, : lengths.max(initial=0)]
    return Sequences(slots=sequences.slots[rows], tokens=tokens, lengths=lengths, features=features)


def check_contract(make, sequences, num_draft, law, *, width, seed=0):
    """Check a fresh drafter's answer to ragged rows; return it.

    Args:
        make: makes the drafter, without memory of any sequence.
        sequences: rows of different lengths.
        num_draft: `[b]`, some of them 0 and some `width`.
        law: a law that treats each row by itself.
        width: `K`.
        seed: of the uniforms.
    """
    uniforms = np.random.default_rng(seed).random((len(num_draft), width))
    drafts = make().draft(sequences, num_draft, uniforms, law)
    vocabulary = drafts.q.shape[2]
    assert drafts.tokens.shape == uniforms.shape
    assert drafts.q.shape[:2] == uniforms.shape
    assert ((drafts.count >= 0) & (drafts.count <= num_draft)).all()
    made = np.arange(width) < drafts.count[:, None]
    assert made.any()
    assert ((drafts.tokens >= 0) & (drafts.tokens < vocabulary))[made].all()
    assert (drafts.q >= 0).all()
    np.testing.assert_allclose(drafts.q.sum(axis=2)[made], 1, atol=1e-12)
    assert (np.take_along_axis(drafts.q, drafts.tokens[..., None], axis=2)[..., 0] > 0)[made].all()
    for row in range(len(num_draft)):
        alone = make().draft(subset(sequences, [row]), num_draft[[row]], uniforms[[row]], law)
        assert alone.count[0] == drafts.count[row]
        n = alone.count[0]
        np.testing.assert_array_equal(alone.tokens[0, :n], drafts.tokens[row, :n])
        np.testing.assert_array_equal(alone.q[0, :n], drafts.q[row, :n])
    return drafts


def check_drawn_from_q(make, sequence, law, *, width, cells=4096):
    """Check that the drafts of one sequence have the declared law, on a grid of uniforms.

    At each position, the other uniforms held, the drafts over an even grid of uniforms occur as often as the
    declared `q` says, to within one cell of the grid.
    """
    held = np.random.default_rng(1).random(width)
    for position in range(width):
        uniforms = np.tile(held, (cells, 1))
        uniforms[:, position] = (np.arange(cells) + 0.5) / cells
        drafts = make(cells).draft(_repeat(sequence, cells), np.full(cells, width), uniforms, law)
        share = np.bincount(drafts.tokens[:, position], minlength=drafts.q.shape[2]) / cells
        np.testing.assert_allclose(share, drafts.q[0, position], atol=1.01 / cells)
        np.testing.assert_array_equal(drafts.q[:, position], np.tile(drafts.q[0, position], (cells, 1)))


def _repeat(sequence, times):
    """One sequence in that many rows and slots."""
    rows = subset(sequence, np.zeros(times, dtype=int))
    return Sequences(slots=np.arange(times), tokens=rows.tokens, lengths=rows.lengths, features=rows.features)
