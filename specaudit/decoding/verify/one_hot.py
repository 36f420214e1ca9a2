"""Verification without the drafter's laws: as if each draft had been certain."""

from specaudit.decoding.arrays import IntArray
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.rows import Laws, OneHotRows, as_rows
from specaudit.decoding.verify.verified import Verified


class OneHotVerifier(ChainVerifier):
    """Accepts draft x with probability p(x), and replaces it by a draw of p without x.

    Exact however the draft was found, sampled drafts included, since given the draft its law is one-hot. It costs
    acceptance: of a sampled draft Σ p·q instead of Σ min(p, q).
    """

    def __call__(
        self, draft: IntArray, q: Laws, p: Laws, num_draft: IntArray, rng: UniformSource, *, check: bool = True
    ) -> Verified:
        """Verify the drafts of a batch as `ChainVerifier` does; `q` is not looked at."""
        batch, width = draft.shape
        p = as_rows(p, batch, width + 1)
        return super().__call__(draft, OneHotRows(draft, p.shape[-1]), p, num_draft, rng, check=check)
