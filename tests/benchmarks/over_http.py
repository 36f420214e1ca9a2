"""Which mutants are found over HTTP, and which controls spared.

Run it: python -m tests.benchmarks.over_http DIR [--kept] [NAME…].

Every mutant whose fault is in what is emitted, and every control, is served by `specaudit serve`, beside plain decoding
of its target (and of its target in full precision, for LAW6), and audited as `specaudit run --endpoint --reference
--metrics` audits: a mutant with the checks that are to kill it, a control with all of those that are to kill any. At
`scored` the servers tell logprobs; at `sampled` they refuse to, so that laws are known from the plain server's tokens
only.

Mutants are asked as in the full kill matrix (`specaudit.calibrate.matrix.SETTINGS`, with the sampling parameters
without which a fault is none), but for what LESS says. What is right never ends early, and what needs more evidence
than a level has seldom does: there the sizes are those of SPARING. So are those of LAW3 at `sampled`, where every token
that is judged is a request, unless a fault is known to need more.

The rows are kept in DIR/rows.jsonl and found again when it is run once more; so is the evidence of every audit that did
not come out as it should. Names choose mutants and controls; without any it is all of them. With --kept nothing is
carried out, and what is not there is listed.
"""

import resource
import shutil
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from specaudit.audit.record import read_evidence
from specaudit.audit.run import Audit, run_audit
from specaudit.calibrate.drive import tokens_of
from specaudit.calibrate.matrix import ALPHA, CLOSER, FOR, conditions, settings_of
from specaudit.calibrate.subjects import family_of, found, plain, subjects, world_of
from specaudit.checks import registry
from specaudit.engines.reference import letters
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Finding, Verdict
from specaudit.model.record import Record, from_json, to_json
from specaudit.model.report import Report
from specaudit.model.suite import Background, Suite
from tests.cli.servers import serving

FAMILIES = ("rule", "q-contract", "parameters", "rng", "batch", "state", "precision", "stop")
"""Families of faults in what is emitted; those of counters and reports have checks that no level changes."""

LEVELS = {"scored": (), "sampled": ("--no-logprobs",)}
"""What servers are told so that they reveal no more."""

_RANKS = ("text", "sampled", "scored", "exact")

OF_LAW = ("GRD", "LAW", "SED")
"""Families of checks that controls are judged by."""

IN_FLIGHT = 16

LESS: Mapping[str, Mapping[str, Any]] = {
    "LAW5": {
        "tolerance": 0.25,
        "temperature": [0.7],
        "top_p": [],
        "top_k": [],
        "min_p": [],
        "frequency_penalty": 0,
        "grammar": None,
        "max_completions": 200,
        "blocks": 2,
    },
    "LAW6": {
        "tolerance": 0.15,
        "max_tokens": 16,
        "prompts": 1,
        "blocks": 3,
        "greedy_prompts": 16,
        "greedy_tokens": 8,
    },
}
"""Checks that cost more over HTTP than all others together, and are asked at `scored` only: of LAW5 a matrix of
temperature, bias, bad words and two penalties."""

SPARING: Mapping[str, Mapping[str, Any]] = {
    "GRD1": {"tolerance": 0.3, "prompts": 40, "max_tokens": 12},
    "GRD3": {"tolerance": 0.35, "prompts": 32, "max_tokens": 12},
    "LAW1": {"tolerance": 0.2, "word_length": 2, "pilot": 128, "max_contexts": 0},
    "LAW3": {"tolerance": 0.3, "max_tokens": 16, "prompts": 1, "choices": 8},
    "SED1": {"tolerance": 0.3, "prompts": 32, "max_tokens": 12},
    "SED2": {"tolerance": 0.45, "prompts": 16, "max_tokens": 8},
    "SED3": {"tolerance": 0.45, "prompts": 16, "max_tokens": 24, "pilot": 24, "pilot_tokens": 4},
    **LESS,
}
"""Sizes with which every control can conform at either level, but where its finding says why not."""


class Row(Record, frozen=True, kw_only=True):
    """What came of one audit."""

    subject: str
    level: str
    verdicts: dict[str, str]
    """By check."""
    told: dict[str, str]
    """What each check said in a sentence."""
    killer: str
    """The first check that found a violation; empty where none did."""
    tokens: int
    """Of the subject, up to that verdict; all, where there was none."""
    generated: int
    """Of all servers."""
    seconds: float
    """Of a processor, the servers' included."""

    @property
    def right(self) -> bool:
        """Whether a mutant was found, or a control not accused."""
        return bool(self.killer) == self.subject.startswith("mutant:")


def checks_for(subject: str, level: str) -> tuple[str, ...]:
    """Return the checks that judge a subject at a level of evidence, in the order they run."""
    if subject.startswith("mutant:"):
        wanted = set(found(subject).killed_by)
    else:
        killers = {check for one in mutants() for check in found(one).killed_by if registry.family(check) in OF_LAW}
        about = {family_of(subject), plain(subject), subject}
        wanted = {check for check in killers if not FOR.get(check, about).isdisjoint(about)}
    return tuple(
        check for check in registry.locations() if check in wanted and (level == "scored" or check not in LESS)
    )


def sizes(subject: str, check: str, level: str) -> Mapping[str, Any]:
    """Return a check's settings for a subject at a level of evidence."""
    if not subject.startswith("mutant:") or not told_enough(subject, level):
        return SPARING.get(check, {})
    if (check, level) == ("LAW3", "sampled") and (plain(subject), check) not in CLOSER:
        return SPARING[check]
    return {**settings_of(subject, check, level), **LESS.get(check, {})}


def told_enough(subject: str, level: str) -> bool:
    """Whether a level of evidence is the one with which a mutant's checks are to find it, or a higher one."""
    return _RANKS.index(found(subject).evidence) <= _RANKS.index(level)


def _conditions(subject: str, check: str) -> Mapping[str, Any]:
    """The sampling parameters without which a fault is none, bad words as the text that a server takes."""
    needed = conditions(subject, check)
    sampling = needed.get("sampling")
    if sampling is None or not sampling.bad_words:
        return needed
    words = tuple((letters(word),) for word in sampling.bad_words)
    return {"sampling": msgspec.structs.replace(sampling, bad_words=words)}


def mutants() -> list[str]:
    """Return the mutants of the families."""
    return [one for one in subjects() if one.startswith("mutant:") and family_of(one) in FAMILIES]


def controls() -> list[str]:
    """Return all controls, and correct decoders: as they are by default, and asked for what LAW5 varies."""
    asked = ("reference:accept-after-mismatch", "reference:filter-order-swapped")
    return [*asked, *(one for one in subjects() if one.startswith("control:"))]


def audit(subject: str, level: str, folder: Path) -> Row:
    """Serve a subject and its plain target, and audit the one against the other."""
    checks = checks_for(subject, level)
    tables = {check: {**sizes(subject, check, level), **_conditions(subject, check)} for check in checks}
    suite = Suite(name="over-http", title="", background=Background(), checks=tables)
    target = world_of(subject)
    plainly = ("--draft-tokens", "0", "--world", target.name)
    fully = ("--draft-tokens", "0", "--world", target.full_precision or target.name)
    speculating = ("--world", target.name) if subject.startswith("reference:") else ("--engine", subject)
    wanted = [speculating, plainly, *([fully] if "LAW6" in checks else [])]
    begun = processor()
    with serving(*((*options, *LEVELS[level]) for options in wanted)) as endpoints:
        report = run_audit(
            Audit(
                suite=suite,
                out=folder,
                endpoint=endpoints[0],
                reference=endpoints[1],
                full_precision=endpoints[2] if len(endpoints) > 2 else None,
                metrics=endpoints[0].removesuffix("/v1") + "/metrics",
                alpha=ALPHA,
                concurrency=IN_FLIGHT,
            )
        )
    return row_of(subject, level, report, read_evidence(folder), processor() - begun)


def processor() -> float:
    """Return the seconds that this process and its servers that have ended took of a processor."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def row_of(subject: str, level: str, report: Report, evidence: Evidence, seconds: float) -> Row:
    """Return what an audit came to."""
    killers = [finding for finding in report.findings if finding.verdict is Verdict.VIOLATES]
    return Row(
        subject=subject,
        level=level,
        verdicts={finding.check: finding.verdict.value for finding in report.findings},
        told={finding.check: finding.summary for finding in report.findings} | _stopped(report),
        killer=killers[0].check if killers else "",
        tokens=_until(killers[0], evidence) if killers else report.tokens.get("subject", 0),
        generated=sum(report.tokens.values()),
        seconds=round(seconds, 1),
    )


def _stopped(report: Report) -> dict[str, str]:
    return {"stopped": report.stopped} if report.stopped else {}


def _until(finding: Finding, evidence: Evidence) -> int:
    """The subject's tokens after which bets had won, or all that the check asked for."""
    if finding.betting is not None and finding.betting.rejected_after is not None:
        return finding.betting.rejected_after
    return tokens_of(evidence, [name for name in evidence.stages if name.partition(".")[0] == finding.check])


def rows(folder: Path, names: tuple[str, ...], *, kept: bool) -> Iterator[Row | tuple[str, str]]:
    """Yield the rows of all subjects that have one of those names, or of all; what is not kept is carried out.

    Where only what is `kept` is wanted, subject and level stand for a row that is not.
    """
    file = folder / "rows.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    known = [from_json(line, Row) for line in file.read_bytes().splitlines()] if file.exists() else []
    by_key = {(row.subject, row.level): row for row in known}
    for level, subject in product(LEVELS, [*mutants(), *controls()]):
        if names and plain(subject) not in names:
            continue
        row = by_key.get((subject, level))
        if row is None and kept:
            yield subject, level
            continue
        if row is None:
            evidence = folder / f"{subject.replace(':', '-')}-{level}"
            shutil.rmtree(evidence, ignore_errors=True)
            row = audit(subject, level, evidence)
            if row.right:
                shutil.rmtree(evidence)
            with file.open("ab") as rest:
                rest.write(to_json(row) + b"\n")
        yield row


def lines(row: Row) -> Iterator[str]:
    """Yield a row of the table, and what was said where a mutant was not found, or a control not acquitted."""
    told = " ".join(f"{check} {verdict}" for check, verdict in row.verdicts.items())
    figures = f"{row.killer or '–':<5} {row.tokens:>9,} {row.generated:>9,} {row.seconds:>6}"
    yield f"{row.subject:<36} {row.level:<8} {figures}  {told}"
    mutant = row.subject.startswith("mutant:")
    if mutant and row.killer:
        return
    if mutant and not told_enough(row.subject, row.level):
        yield f"    its checks are said to need {found(row.subject).evidence} evidence"
    for check, said in row.told.items():
        if mutant or row.verdicts.get(check) != "conforms":
            yield f"    {check}: {said}"


def main() -> None:
    """Print one line per subject and level, and then what was not carried out."""
    folder, *options = sys.argv[1:]
    names = tuple(option for option in options if option != "--kept")
    print(f"{'subject':<36} {'level':<8} {'by':<5} {'tokens':>9} {'generated':>9} {'cpu s':>6}  verdicts")
    missing: dict[str, list[str]] = {}
    for row in rows(Path(folder), names, kept="--kept" in options):
        if isinstance(row, tuple):
            missing.setdefault(row[1], []).append(row[0])
            continue
        print("\n".join(lines(row)), flush=True)
    for level, absent in missing.items():
        print(f"\nnot carried out at {level} evidence: {', '.join(absent)}")


if __name__ == "__main__":
    main()
