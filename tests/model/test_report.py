"""Exit codes and their precedence: 130 > 70 > 1 > 3 > 4 > 0."""

import pytest

from specaudit.model.finding import Finding, Verdict
from specaudit.model.report import PRECEDENCE, exit_code_of


def finding(verdict: Verdict, *, required: bool = True) -> Finding:
    return Finding(check="LAW1", verdict=verdict, required=required, summary="")


CONFORMS, VIOLATES, OPEN, ABSENT = map(
    finding, (Verdict.CONFORMS, Verdict.VIOLATES, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
)
OPTIONAL = {verdict: finding(verdict, required=False) for verdict in Verdict}


def test_the_order_of_precedence():
    assert PRECEDENCE == (130, 70, 1, 3, 4, 0)


@pytest.mark.parametrize(
    ("findings", "code"),
    [
        ((CONFORMS,), 0),
        ((CONFORMS, CONFORMS), 0),
        ((CONFORMS, VIOLATES), 1),
        ((VIOLATES, ABSENT, OPEN), 1),
        ((CONFORMS, ABSENT, OPEN), 3),
        ((CONFORMS, OPEN), 4),
        ((), 3),
        ((CONFORMS, OPTIONAL[Verdict.VIOLATES]), 1),
        ((CONFORMS, OPTIONAL[Verdict.NOT_APPLICABLE], OPTIONAL[Verdict.INCONCLUSIVE]), 0),
    ],
)
def test_the_exit_code_of_findings(findings, code):
    assert exit_code_of(findings) == code


def test_a_stopped_audit_could_not_test_unless_it_found_a_violation():
    assert exit_code_of((OPEN,), could_not_test=True) == 3
    assert exit_code_of((VIOLATES, OPEN), could_not_test=True) == 1


def test_an_interrupted_audit_says_so_before_all_else():
    assert exit_code_of((VIOLATES,), interrupted=True) == 130


def test_inconclusive_may_be_allowed_but_nothing_else():
    assert exit_code_of((CONFORMS, OPEN), allow_inconclusive=True) == 0
    assert exit_code_of((VIOLATES, OPEN), allow_inconclusive=True) == 1
    assert exit_code_of((ABSENT, OPEN), allow_inconclusive=True) == 3
