"""Random worlds for one step of a verifier: laws in every context, and drafts drawn in them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Laws = npt.NDArray[np.float64]
Tokens = npt.NDArray[np.int64]

NOTHING = 0
"""Row of a law that no token goes before."""

_POISON = 0
"""Token that is certain under every law that a verifier has no business to read."""


@dataclass(frozen=True, kw_only=True)
class VerifierWorld:
    """Laws of target and drafter that depend on the position in the step and on the token before.

    So a token that is judged or drawn in another context than its own has another law.

    Attributes:
        p: The target's laws by position, token before and token `[K + 1, V, V]`.
        q: The drafter's laws `[K, V, V]`.
    """

    p: Laws
    q: Laws

    @property
    def drafts(self) -> int:
        """Drafts per step `K`."""
        return len(self.q)

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens `V`."""
        return int(self.p.shape[2])


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A batch for the verifier, rows of several worlds mixed.

    Attributes:
        worlds: What the rows are of.
        world: Number of each row's world `[B]`.
        draft: Drafts `[B, K]`; beyond `num_draft` a token that was never drawn.
        q: The laws they were drawn from `[B, K, V]`.
        p: The target's laws at the drafts and behind the last one `[B, K + 1, V]`.
        num_draft: Drafts of each row `[B]`.
    """

    worlds: tuple[VerifierWorld, ...]
    world: Tokens
    draft: Tokens
    q: Laws
    p: Laws
    num_draft: Tokens


def random_world(
    rng: np.random.Generator, *, vocabulary_size: int, drafts: int, agreement: float, padding: int = 0
) -> VerifierWorld:
    """Draw a world in which every law rules some tokens out, the drafter's other ones than the target's.

    Args:
        rng: Draws it.
        vocabulary_size: Number of tokens `V`, padding included.
        drafts: Drafts per step `K`.
        agreement: How much of the drafter's law is the target's, 0 to 1, but for the tokens that it rules out.
        padding: Tokens at the end of the vocabulary that no law allows.
    """
    shape = drafts + 1, vocabulary_size, vocabulary_size
    target, other = (_sparse(rng, rng.gamma(1.0, size=shape), vocabulary_size - padding) for _ in range(2))
    drafter = agreement * target + (1 - agreement) * other
    return VerifierWorld(p=target, q=_sparse(rng, drafter[:drafts], vocabulary_size - padding))


def one_hot_world(rng: np.random.Generator, *, vocabulary_size: int, drafts: int) -> VerifierWorld:
    """Draw a world at temperature 0: in every context one token is certain; the drafter is fairly sure of it."""
    certain = rng.integers(vocabulary_size, size=(drafts + 1, vocabulary_size))
    p = (np.arange(vocabulary_size) == certain[..., None]).astype(np.float64)
    other = rng.dirichlet(np.ones(vocabulary_size), size=(drafts, vocabulary_size))
    return VerifierWorld(p=p, q=0.7 * p[:drafts] + 0.3 * other)


def half_used_world() -> VerifierWorld:
    """A world of 3 tokens and 2 drafts in which the first draft is mostly twice as likely as it ought to be.

    A rule that judges blocks keeps it with only half of the target left to give, so that what replaces the second draft
    depends on the first.
    """
    before = np.ones((3, 1))
    p = np.stack([before * law for law in ([0.45, 0.1, 0.45], [0.6, 0.4, 0.0], [0.2, 0.3, 0.5])])
    q = np.stack([before * law for law in ([0.9, 0.1, 0.0], [0.3, 0.0, 0.7])])
    return VerifierWorld(p=p, q=q)


def draw_batch(rng: np.random.Generator, worlds: tuple[VerifierWorld, ...], world: Tokens, num_draft: Tokens) -> Batch:
    """Let the drafters of the rows' worlds draft.

    Args:
        rng: Draws the drafts.
        worlds: Worlds of one shape.
        world: Number of each row's world `[B]`.
        num_draft: Drafts of each row `[B]`.
    """
    p, q = (np.stack([getattr(one, name) for one in worlds]) for name in ("p", "q"))
    batch, width, vocabulary = len(world), worlds[0].drafts, worlds[0].vocabulary_size
    poison = np.arange(vocabulary) == _POISON
    draft = np.full((batch, width), _POISON)
    q_rows, p_rows = np.empty((batch, width, vocabulary)), np.empty((batch, width + 1, vocabulary))
    before = np.full(batch, NOTHING)
    for i in range(width + 1):
        p_rows[:, i] = np.where((i <= num_draft)[:, None], p[world, i, before], poison)
        if i < width:
            drafted = i < num_draft
            laws = q[world, i, before]
            q_rows[:, i] = np.where(drafted[:, None], laws, poison)
            before = draft[:, i] = np.where(drafted, draw(rng, laws), _POISON)
    return Batch(worlds=worlds, world=world, draft=draft, q=q_rows, p=p_rows, num_draft=num_draft)


def completed(rng: np.random.Generator, batch: Batch, out: Tokens, n_out: Tokens) -> Tokens:
    """Let the targets go on behind what was emitted, up to the bonus token: words `[B, K + 1]`.

    Of a lossless verifier these have the law of plain decoding, whatever made it stop where it did. Given that a
    place was reached, its token has that law only where stopping did not depend on later drafts, as in blocks.
    Beyond the bonus token of a row, words hold −1.
    """
    laws = np.stack([one.p for one in batch.worlds])
    words = np.full(out.shape, -1)
    before = np.full(len(out), NOTHING)
    for i in range(out.shape[1]):
        emitted = i < n_out
        token = np.where(emitted, out[:, i], draw(rng, laws[batch.world, i, before]))
        words[:, i] = np.where(emitted | (i <= batch.num_draft), token, -1)
        before = token
    return words


def draw(rng: np.random.Generator, laws: Laws) -> Tokens:
    """Draw a token from each law, `[B, V] -> [B]`."""
    cumulative = laws.cumsum(axis=1)
    # Scaled by the last sum, so that rounding cannot reach behind the last token with any probability.
    coins = rng.random((len(laws), 1)) * cumulative[:, -1:]
    return np.asarray((cumulative <= coins).sum(axis=1))


def _sparse(rng: np.random.Generator, weights: Laws, used: int) -> Laws:
    """Laws like the weights that allow, by coin, three quarters of the `used` first tokens, one of them for certain."""
    vocabulary = weights.shape[-1]
    certain = np.arange(vocabulary) == np.arange(vocabulary)[:, None] % used
    kept = certain | (rng.random(weights.shape) < 0.75)
    laws = np.where(kept, weights + 0.2 * certain, 0.0)
    laws[..., used:] = 0
    laws /= laws.sum(axis=-1, keepdims=True)
    return laws
