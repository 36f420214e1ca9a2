"""What LAW1 by itself costs, and how soon it finds a fault. Run it: python -m tests.benchmarks.law1 [AUDITS] [LEVEL…].

One prompt, at most 64 cells, a tolerated total variation of .02, delta = 1e-3. A healthy decoder ought to conform in 9
of 10 audits with 150,000 generated tokens at scored evidence and 550,000 at sampled, those of both arms counted. A
fault with a total variation above .1 ought to end in under 2,000 tokens of the subject if the portfolio knows it and
6,000 if not, and in under four times that at sampled evidence. The embedded decoder stands for an endpoint that reveals
no more than the level says. The baseline in the same run is exact evidence.
"""

import sys
from statistics import median

from specaudit.calibrate.drive import drive
from specaudit.checks.interface import budget_of
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from tests.checks.drive import engine
from tests.model.builders import plan

LEVELS = {
    "exact": ({"reveal": True}, {"word_length": 3}),
    "scored": ({}, {"word_length": 3, "pilot": 128}),
    "sampled": ({"logprobs": 0, "logprobs_mode": "unknown", "scores_prompts": False}, {"word_length": 2}),
}
"""What is revealed, and what the suite says at that level: two-token words have 16 cells, three-token words 64."""

CONCURRENCY = 256
"""Requests side by side: the embedded decoder scores a prompt as fast as 256 of them."""

KNOWN = ("resid-from-target", "resid-abs", "accept-raw-p", "inverted-ratio")
OTHER = ("draft0-unverified", "accept-after-mismatch")
"""Faults that move three-token words by more than TV .1: in the portfolio's dictionary, and not."""

MOST = {"exact": (2000, 6000), "scored": (2000, 6000), "sampled": (8000, 24_000)}


def settings_at(level: str) -> LawSettings:
    """Return LAW1's settings at a level of evidence."""
    return LawSettings(tolerance=0.02, bound="completions", success=0.9, sampling=Sampling(top_k=4), **LEVELS[level][1])


def generated(evidence: Evidence) -> int:
    """Count the tokens that all arms generated."""
    answers = (attempt.response for stage in evidence.stages for attempt in evidence.attempts(stage))
    return sum(len(one.tokens or ()) for answer in answers if answer for one in answer.completions)


def audit(subject: str, level: str, seed: int) -> tuple[Verdict, int, int | None]:
    """Return the verdict, the generated tokens, and the subject's tokens after which bets had earned enough."""
    check, settings = EmittedLaw(), settings_at(level)
    told = {name: value for name, value in LEVELS[level][0].items() if name != "reveal"}
    evidence = drive(
        check,
        settings,
        plan(check.id, alpha=1e-3, metrics="in process", seed=seed, concurrency=CONCURRENCY),
        {"subject": engine(subject), "reference": engine(draft_tokens=0)},
        reveal=level == "exact",
        hidden={"subject": told, "reference": told},
    )
    finding = check.judge(settings, evidence, budget_of(evidence.plan, check.id))
    return finding.verdict, generated(evidence), finding.betting and finding.betting.rejected_after


def main() -> None:
    """Print one line per level and subject."""
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for level in sys.argv[2:] or LEVELS:
        known, other = MOST[level]
        found = [audit("reference", level, seed) for seed in range(audits)]
        conforming = sum(verdict is Verdict.CONFORMS for verdict, _, _ in found)
        told = f"conforms in {conforming} of {audits} audits"
        print(f"{level:<8} {'reference':<22} {told}, {max(tokens for _, tokens, _ in found):,} tokens each", flush=True)
        for subjects, most in ((KNOWN, known), (OTHER, other)):
            for subject in subjects:
                ends = [audit(subject, level, seed) for seed in range(audits)]
                caught = sum(verdict is Verdict.VIOLATES for verdict, _, _ in ends)
                after = sorted(at for _, _, at in ends if at is not None)
                within = sum(at < most for at in after)
                print(
                    f"{level:<8} {subject:<22} violates in {caught} of {audits} audits, after {median(after):,.0f} "
                    f"tokens ({after[0]:,} to {after[-1]:,}), under {most:,} in {within}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
