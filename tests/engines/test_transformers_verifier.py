"""The accept rule of transformers under `check_verifier`; skipped where transformers is not installed.

It judges one row at a time, and rows enough to bound it take minutes (`tests/engines/run.sh transformers`): here it is
not accused.
"""

import numpy as np
import pytest

from specaudit.model.finding import Verdict
from specaudit.testing import check_verifier

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
rule = pytest.importorskip("tests.engines.networks.rule").rule

ROWS = 5000


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
