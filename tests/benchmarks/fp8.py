"""What LAW6 and LAW1 say of each way in which precision enters a speculative decoder, and what that costs.

Run it: python -m tests.benchmarks.fp8 [AUDITS] [LEVEL or CHECK…] [-- SUBJECT…].

All in process, with the settings of suite `fp8`, each check alone with the whole error budget: the subject, plain
decoding of the target that it is served with, and plain decoding of that target in full precision. A quantised drafter
and a quantised target are to be spared, both faults are to be found, and a quantised target that is held against one in
full precision is to be told apart. The baseline in the same run is the decoder without any quantisation. The
transformer's law is in no table: at scored evidence it is told by logprobs of the whole vocabulary, in double
precision; at sampled evidence by draws alone.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from statistics import median
from textwrap import fill
from time import perf_counter

from specaudit.audit.suites import load_suite
from specaudit.calibrate.drive import HIDDEN, Level, drive, tokens_of
from specaudit.calibrate.subjects import decoder, full_precision_of, reference_of
from specaudit.checks import registry
from specaudit.checks.interface import budget_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.finding import Finding
from specaudit.model.plan import Arm, Role
from tests.model.builders import plan

PLAIN = "no quantisation"
MISMATCH = "fp8 target, reference in full precision"
SUBJECTS: Mapping[str, str] = {
    PLAIN: "reference:late-kv",
    "control:fp8-draft": "control:fp8-draft",
    "control:fp8-target": "control:fp8-target",
    "mutant:fp8-batch-scale": "mutant:fp8-batch-scale",
    "mutant:fp8-q-declared-bf16": "mutant:fp8-q-declared-bf16",
    MISMATCH: "control:fp8-target",
}
"""By the name in the table; the first is the correct decoder of the world in which late-kv is at home."""

LEVELS: tuple[Level, ...] = ("scored", "sampled")
CHECKS = ("LAW6", "LAW1")
CONCURRENCY = 16
ROLES: tuple[Role, ...] = ("subject", "reference", "full-precision")


def engines(name: str) -> dict[Role, SpeculativeDecoder]:
    """Return the decoders of all arms."""
    subject = SUBJECTS[name]
    reference = full_precision_of(subject) if name == MISMATCH else reference_of(subject)
    return dict(zip(ROLES, (decoder(subject), reference, full_precision_of(subject)), strict=True))


def audit(name: str, check_id: str, level: Level, seed: int) -> tuple[Finding, dict[str, int], float]:
    """Audit a subject with one check; return the finding, what each arm generated, and the seconds it took."""
    suite = load_suite("fp8")
    check, settings = registry.get(check_id), registry.settings_of(suite, check_id)
    arms = {role: one for role, one in engines(name).items() if role != "full-precision" or check.beside}
    header = plan(
        check_id,
        alpha=1e-3,
        suite=suite,
        metrics="in process",
        seed=seed,
        concurrency=CONCURRENCY,
        arms=tuple(Arm(role=role, engine="reference") for role in arms),
    )
    begun = perf_counter()
    evidence = drive(
        check,
        settings,
        header,
        {role: ReferenceEngine(one) for role, one in arms.items()},
        reveal=level == "exact",
        hidden=dict.fromkeys(arms, HIDDEN[level]),
    )
    finding = check.judge(settings, evidence, budget_of(header, check_id))
    tokens = {role: tokens_of(evidence, list(evidence.stages), role) for role in arms}
    return finding, tokens, perf_counter() - begun


def main() -> None:
    """Print the first audit's sentences, and over all audits the verdicts and what they cost."""
    words, chosen = sys.argv[1:], list(SUBJECTS)
    if "--" in words:
        at = words.index("--")
        words, chosen = words[:at], words[at + 1 :]
    audits = int(words[0]) if words else 1
    for level in [level for level in LEVELS if level in words or set(words).isdisjoint(LEVELS)]:
        for name in chosen:
            for check_id in [check_id for check_id in CHECKS if check_id in words or set(words).isdisjoint(CHECKS)]:
                found = [audit(name, check_id, level, seed) for seed in range(audits)]
                verdicts = Counter(finding.verdict.value for finding, _, _ in found)
                told = ", ".join(f"{verdict} in {count} of {audits}" for verdict, count in verdicts.items())
                cost = ", ".join(
                    f"{median(tokens[role] for _, tokens, _ in found):,.0f} tokens of the {role}"
                    for role in found[0][1]
                )
                early = sorted(
                    finding.betting.rejected_after
                    for finding, _, _ in found
                    if finding.betting and finding.betting.rejected_after
                )
                after = f", bets showed it after {early[0]:,} to {early[-1]:,} tokens" if early else ""
                seconds = median(seconds for _, _, seconds in found)
                print(f"{level} · {name} · {check_id}: {told}{after}")
                print(f"  {cost}; {seconds:.0f} s")
                print(fill(found[0][0].summary, 110, initial_indent="  ", subsequent_indent="  "), flush=True)


if __name__ == "__main__":
    main()
