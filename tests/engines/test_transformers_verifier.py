"""The accept rule of transformers under `check_verifier`; skipped where transformers is not installed.

It judges one row at a time, so that rows enough to bound it at .02 would take many minutes: here it is not accused.
"""

import numpy as np
import pytest

from specaudit.model.finding import Verdict
from specaudit.testing import check_verifier

torch = pytest.importorskip("torch")
generation = pytest.importorskip("transformers.generation.utils")

ROWS = 5000


def rule(**options):
    """`_speculative_sampling` behind the interface of `check_verifier`, tensors in and out."""

    def verify(draft, q, p, num_draft, rng):
        out, n_out = torch.full((len(draft), draft.shape[1] + 1), -1), torch.empty(len(draft), dtype=torch.int64)
        for row, length in enumerate(num_draft.tolist()):
            tokens = draft[row : row + 1, :length]
            if length:
                candidates, target = q[row : row + 1, :length].log(), p[row : row + 1, : length + 1].log()
                emitted, _ = generation._speculative_sampling(tokens, candidates, length, target, **options)
            else:  # which transformers does not call speculative sampling
                emitted = torch.multinomial(p[row : row + 1, 0], num_samples=1)
            n_out[row] = emitted.shape[1]
            out[row, : emitted.shape[1]] = emitted[0]
        return out, n_out

    return verify


def check(verify):
    """It draws from torch's global generator, so that is what is seeded."""
    return check_verifier(verify, to_array=torch.from_numpy, make_rng=torch.manual_seed, rows=ROWS)


def test_its_accept_rule_is_not_accused():
    report = check(rule())
    verdicts = {finding.check: finding.verdict for finding in report.findings}
    assert Verdict.VIOLATES not in verdicts.values()
    assert verdicts["greedy"] is Verdict.CONFORMS
    assert verdicts["padding"] is Verdict.CONFORMS
    assert max(finding.effect.value for finding in report.findings if finding.effect) < 0.06


def test_its_relaxed_rule_is():
    report = check(rule(assistant_ensemble_weight=0.5))
    assert report.exit_code == 1


def test_numpy_is_not_asked_for():
    seen = []

    def verify(draft, q, p, num_draft, rng):
        seen.append((draft, q, p, num_draft))
        return draft[:, :1].repeat(1, draft.shape[1] + 1), num_draft + 1

    check(verify)
    assert all(isinstance(one, torch.Tensor) for one in seen[0])
    np.testing.assert_array_equal(seen[0][1].sum(dim=2).round(decimals=9), 1)
