"""An audit that broke off before anything was probed is judged by every check, and by none with a crash."""

import pytest

from specaudit.checks import registry
from specaudit.checks.interface import Budget
from specaudit.model.entries import PlanEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Arm
from specaudit.model.record import digest
from tests.model.builders import plan

SUBJECT = Arm(role="subject", engine="openai", endpoint="http://127.0.0.1:9/v1")
ARMS = {
    "alone": (SUBJECT,),
    "itself": (SUBJECT, Arm(role="reference", engine="openai", endpoint="http://127.0.0.1:9/v1")),
    "reference": (SUBJECT, Arm(role="reference", engine="openai", endpoint="http://127.0.0.1:10/v1")),
}


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("check_id", registry.locations())
def test_it_shows_nothing_and_says_so(check_id: str, arms: str) -> None:
    head = plan(check_id, arms=ARMS[arms], metrics="http://127.0.0.1:9/metrics")
    evidence = Evidence([PlanEntry(plan=head, digest=digest(head))])
    settings = registry.settings_of(head.suite, check_id)
    finding = registry.get(check_id).judge(settings, evidence, Budget(alpha=1e-3, delta=1e-3, seed=0))
    assert finding.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    assert finding.summary
