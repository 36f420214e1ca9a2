import numpy as np
import pytest

from specaudit.decoding.drafters.fitting import fit
from specaudit.decoding.drafters.mtp import MultiTokenDrafter
from specaudit.decoding.models.transformer import rms_norm

from .fakes import law, sequences


@pytest.fixture(scope="module")
def mtp(lab):
    head = MultiTokenDrafter(lab.target, seed=5)
    fit(head, lab.corpus, seed=6)
    return head


def by_hand(mtp, hidden, token, depth):
    """One module: the state after it, and the law that the shared head makes of it."""
    module, target = mtp.modules[depth], mtp.target
    embedded = target.weights.embedding[[token]]
    joined = np.hstack([rms_norm(hidden, module.state_norm.value), rms_norm(embedded, module.token_norm.value)])
    stream = joined @ module.project.value
    normed = rms_norm(stream, module.mlp_norm.value)
    gate = normed @ module.gate.value
    stream = stream + (gate / (1 + np.exp(-gate)) * (normed @ module.up.value)) @ module.down.value
    return stream, law(rms_norm(stream, target.weights.final_norm) @ target.weights.head, None)[0]


def test_it_beats_the_baseline_clearly_and_random_modules_do_not(lab, mtp):
    fitted, random = lab.acceptance(mtp), lab.acceptance(MultiTokenDrafter(lab.target, seed=5))
    assert (fitted.per_position > lab.unigram.per_position + 0.25).all()
    assert fitted.accepted > 3.5 * lab.unigram.accepted
    assert random.accepted < lab.unigram.accepted


def test_the_modules_are_wired_one_behind_the_other_and_the_last_repeats(lab, mtp):
    context = sequences([[3, 9]], features=lab.held_out.features[:1])
    drafts = mtp.draft(context, np.array([4]), np.array([[0.3, 0.6, 0.1, 0.8]]), law)
    hidden = lab.held_out.features[:1, -32:]
    for i, (token, depth) in enumerate(zip([9, *drafts.tokens[0, :3]], [0, 1, 1, 1], strict=True)):
        hidden, q = by_hand(mtp, hidden, token, depth)
        np.testing.assert_allclose(drafts.q[0, i], q, rtol=1e-10)


def test_the_loss_is_lambda_over_depths_times_the_cross_entropies_of_the_tokens(lab, mtp):
    windows = lab.corpus.sample(np.random.default_rng(0), 20, mtp.window)
    surprise = np.empty((20, 2))
    for row in range(20):
        hidden = windows.features[row, :1, -32:]
        for depth in range(2):
            hidden, q = by_hand(mtp, hidden, windows.tokens[row, depth + 1], depth)
            surprise[row, depth] = -np.log(q[windows.tokens[row, depth + 2]])
    assert mtp.loss(windows).value == pytest.approx(0.3 / 2 * surprise.mean(axis=0).sum())


def test_embedding_and_head_are_shared_and_not_fitted(lab, mtp):
    borrowed = {id(lab.target.weights.embedding), id(lab.target.weights.head), id(lab.target.weights.final_norm)}
    assert not borrowed & {id(node.value) for node in mtp.parameters}
    assert len(mtp.parameters) == 2 * 7
