"""Hand-made reports, one for each exit code."""

from typing import Any

from specaudit.model.finding import Effect, Finding, Statistic, Verdict, View, Witness
from specaudit.model.plan import Arm
from specaudit.model.report import Report

TV = Effect(
    name="total variation",
    value=0.1819,
    under_equality=0.0284,
    low=0.1206,
    high=0.2488,
    confidence=0.999,
    tolerance=0.05,
)
CHI_SQUARE = Statistic(name="chi-square", value=2011.3, degrees_of_freedom=63, p_value=2.5e-5, method="Monte Carlo")

CONFORMING = Finding(
    check="GRD1",
    verdict=Verdict.CONFORMS,
    required=True,
    summary="All 64 greedy completions equal the plain target's, token for token.",
    effect=Effect(
        name="share of prompts that diverge", value=0.0, low=0.0, high=0.1023, confidence=0.999, tolerance=0.15
    ),
    alpha=0.00025,
    coverage={"drafted steps": 1920},
)
VIOLATING = Finding(
    check="LAW1",
    verdict=Verdict.VIOLATES,
    required=True,
    summary="The 3-token words from depth 2 do not have the target's law: total variation 0.182, at least 0.121.",
    effect=TV,
    statistic=CHI_SQUARE,
    alpha=0.00025,
    smallest_detectable=0.0467,
    witness=Witness(what="word '1 2 1' at depth 2", observed=0.05352, expected=0.1093, unit="share of words"),
    views=(
        View(
            name="words of 3 tokens from depth 2",
            samples=9024,
            law="exact",
            effect=TV,
            statistic=CHI_SQUARE,
        ),
    ),
    coverage={"steps that rejected a draft": 32285, "bonus tokens drawn": None},
    measured={"subject completions lost": 0.0, "share": 0.25},
    assumptions=("the reference serves the same target",),
    notes=("window 3 is void: a counter fell",),
    next_step="specaudit run --engine mutant:resid-from-target --select LAW1 --seed 1",
)
OPTIONAL = Finding(
    check="CTR1",
    verdict=Verdict.NOT_APPLICABLE,
    required=False,
    summary="No metrics page was named, so there are no counters to read.",
    next_step="specaudit run --endpoint http://127.0.0.1:8000/v1 --metrics URL_OF_THE_METRICS_PAGE",
)


def undecided(check: str = "LAW1") -> Finding:
    return Finding(
        check=check,
        verdict=Verdict.INCONCLUSIVE,
        required=True,
        summary="A deviation was neither shown nor excluded.",
        next_step="Raise max_completions in the suite",
    )


def report(exit_code: int, *findings: Finding, **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "tool": "0.1.0",
        "suite": "quick",
        "suite_digest": "ab" * 32,
        "arms": (
            Arm(role="subject", engine="mutant:resid-from-target", draft_tokens=3),
            Arm(role="reference", engine="reference", draft_tokens=0),
        ),
        "evidence_digest": "cd" * 32,
        "complete": True,
        "alpha": 0.001,
        "findings": findings,
        "exit_code": exit_code,
        "tokens": {"subject": 195_584, "reference": 2_048},
        "requests": {"subject": 301, "reference": 64},
        "lost": 0,
    }
    return Report(**(fields | changes))


MISSING = Finding(check="LAW1", verdict=Verdict.NOT_APPLICABLE, required=True, summary="There is no plain engine.")

NOBODY = {
    "complete": False,
    "stopped": "Nothing answers at http://127.0.0.1:1/v1/models. Try: curl http://127.0.0.1:1/v1/models",
    "arms": (Arm(role="subject", engine="openai", endpoint="http://127.0.0.1:1/v1"),),
    "tokens": {"subject": 0},
    "requests": {"subject": 0},
}

REPORTS = {
    "conforms": report(0, CONFORMING, OPTIONAL),
    "violates": report(1, CONFORMING, VIOLATING, OPTIONAL, lost=3),
    "could not test": report(3, MISSING, OPTIONAL),
    "unreachable": report(3, MISSING, OPTIONAL, **NOBODY),
    "inconclusive": report(4, undecided("GRD1"), undecided()),
    "inconclusive but allowed": report(0, CONFORMING, undecided()),
    "internal error": report(70, CONFORMING, undecided()),
    "interrupted": report(130, undecided(), complete=False, stopped="Interrupted by the user."),
}


def hostile(text: str) -> Report:
    """A report in which every text is that one."""
    effect = Effect(name=text, value=1.0, low=0.5, high=1.0, confidence=0.9, unit=text)
    statistic = Statistic(name=text, value=1.0, p_value=0.5, method=text)
    finding = Finding(
        check=text,
        verdict=Verdict.VIOLATES,
        required=False,
        summary=text,
        effect=effect,
        statistic=statistic,
        witness=Witness(what=text, observed=1.0, expected=None, unit=text),
        views=(View(name=text, samples=1, law=text, effect=effect, statistic=statistic),),
        coverage={text: 1},
        measured={text: 1.0},
        assumptions=(text,),
        notes=(text,),
        next_step=text,
    )
    return report(
        1,
        finding,
        suite=text,
        stopped=text,
        arms=(Arm(role="subject", engine=text, endpoint=text, model=text),),
        evidence_digest=text,
        suite_digest=text,
        tool=text,
    )


HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 \x9b31m \x00\x7f\r\n\u202egnp.exe\u2066 \u2028 \ufffe [bold]markup[/nonsense] ]]> "
    "<script>alert(1)</script> &amp; | ` ``` *b* _i_ [a](http://evil.example) ![](//evil) @octocat #1 $x$ "
    "::error title=t::m %0A ##[add-mask]m"
)
