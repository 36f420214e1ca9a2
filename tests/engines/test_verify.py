"""A function of the user's as the verifier of the embedded decoder: whole audits of it."""

import asyncio
from pathlib import Path

import pytest

from specaudit.audit.run import run_audit
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.registry import build
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import GREEDY, Request, Sampling
from specaudit.testing import assert_adapter
from tests.audit.small import small_audit

SOURCE = '''
import numpy as np


def right(draft, q, p, num_draft, rng, residual=lambda p, q: np.maximum(p - q, 0)):
    """Speculative sampling, a row at a time."""
    out = np.full((len(draft), draft.shape[1] + 1), -1)
    n_out = np.zeros(len(draft), dtype=np.int64)
    for row, count in enumerate(num_draft):
        law, place = p[row, count], count
        for i in range(count):
            token = draft[row, i]
            if rng.random() * q[row, i, token] >= p[row, i, token]:
                law, place = residual(p[row, i], q[row, i]), i
                break
        out[row, :place] = draft[row, :place]
        out[row, place] = rng.choice(len(law), p=law / law.sum())
        n_out[row] = place + 1
    return out, n_out


def wrong(draft, q, p, num_draft, rng):
    return right(draft, q, p, num_draft, rng, residual=lambda p, q: p)


def malformed(draft, q, p, num_draft, rng):
    out, n_out = right(draft, q, p, num_draft, rng)
    return out, n_out + num_draft + 1


def raising(draft, q, p, num_draft, rng):
    raise KeyError("draft")


number = 5
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_verifier.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arm(name: str) -> Arm:
    return Arm(role="subject", engine=f"verify:{name}", draft_tokens=3)


@pytest.mark.parametrize(("function", "verdict"), [("right", "conforms"), ("wrong", "violates")])
def test_an_audit_tells_a_right_function_from_a_wrong_one(here: Path, function: str, verdict: str) -> None:
    report = run_audit(small_audit(here / "out", engine=f"verify:my_verifier.py:{function}"))
    found = {finding.check: str(finding.verdict) for finding in report.findings}
    assert found["LAW1"] == verdict
    assert found["GRD1"] == "conforms"


def test_it_is_an_engine_like_any_other(here: Path) -> None:
    assert_adapter(build(arm("my_verifier.py:right"), Access()))


@pytest.mark.parametrize("name", ["my_verifier:right", "my_verifier.py:right"])
def test_it_is_found_as_a_module_and_as_a_file(here: Path, name: str) -> None:
    engine = build(arm(name), Access())
    asked = Request(prompt=(1,), sampling=GREEDY, seed=1, max_tokens=9)
    plain = build(Arm(role="reference", engine="reference"), Access())
    ours, theirs = asyncio.run(engine.complete(asked)), asyncio.run(plain.complete(asked))
    assert ours.completions[0].tokens == theirs.completions[0].tokens


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("malformed", r"of my_verifier.py:malformed, n_out\[0\] is \d, not 1 to 4"),
        ("raising", "my_verifier.py:raising ended with KeyError: 'draft'"),
    ],
)
def test_what_is_no_outcome_is_a_sentence(here: Path, name: str, said: str) -> None:
    engine = build(arm(f"my_verifier.py:{name}"), Access())
    with pytest.raises(EngineFailure, match=said):
        asyncio.run(engine.complete(Request(prompt=(1,), sampling=Sampling(), seed=1, max_tokens=9)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_verifier", "names no function"),
        ("no_such_module:right", "no_such_module cannot be imported"),
        ("no_such_file.py:right", "no_such_file.py cannot be imported"),
        ("broken.py:right", "broken.py cannot be imported: ZeroDivisionError: division by zero"),
        ("my_verifier.py:absent", "my_verifier.py has no function 'absent'"),
        ("my_verifier.py:number", "my_verifier.py has no function 'number'"),
    ],
)
def test_what_is_no_function_is_an_error_of_the_user(here: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        build(arm(name), Access())


def test_trees_are_not_for_it(here: Path) -> None:
    with pytest.raises(UsageError, match="drafts trees"):
        build(Arm(role="subject", engine="verify:my_verifier.py:right", world="markov4-tree", draft_tokens=3), Access())
