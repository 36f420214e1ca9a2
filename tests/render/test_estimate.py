from syrupy.assertion import SnapshotAssertion

from specaudit.model.estimate import CheckEstimate, Deviation, Estimate
from specaudit.model.limits import NOTHING, Limits, Spending
from specaudit.model.plan import Arm
from specaudit.render.estimate import render_estimate

LAW1 = CheckEstimate(
    check="LAW1",
    required=True,
    spending=Spending(requests=1234, prompt_tokens=9000, generated_tokens=1_500_000),
    smallest_detectable=Deviation(name="total variation", value=0.04123),
)
CTR3 = CheckEstimate(
    check="CTR3",
    required=False,
    spending=NOTHING,
    smallest_detectable=Deviation(name="acceptance length", value=0.25, unit="tokens per step"),
)
NONE = CheckEstimate(check="SED1", required=False, spending=NOTHING)


def estimate(**changes: object) -> Estimate:
    fields = {
        "suite": "mine",
        "arms": (Arm(role="subject", engine="openai", endpoint="http://host\x1b[31m/v1"),),
        "checks": (LAW1, CTR3, NONE),
        "probing": Spending(requests=40, prompt_tokens=4000, generated_tokens=1000),
        "total": Spending(requests=1274, prompt_tokens=13_000, generated_tokens=1_501_000),
        "cost": 3.01234,
        "seconds": 4000.0,
        "limits": Limits(price_out=2.0, max_cost=1.0),
        "exceeds": "--max-cost",
        "assumptions": ("A rather long sentence on what is assumed, which has to go on in a second line.", "Another."),
    }
    return Estimate(**(fields | changes))  # type: ignore[arg-type]


def test_all_that_an_estimate_tells(snapshot: SnapshotAssertion) -> None:
    assert render_estimate(estimate()) == snapshot


def test_nothing_is_said_of_what_there_is_not(snapshot: SnapshotAssertion) -> None:
    bare = estimate(checks=(LAW1,), probing=NOTHING, cost=None, exceeds="", seconds=0.2, assumptions=())
    assert render_estimate(bare, width=120) == snapshot


def test_what_a_terminal_obeys_is_escaped() -> None:
    assert "\x1b" not in render_estimate(estimate())
