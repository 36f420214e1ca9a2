"""For authors of engines and adapters.

Is this function a lossless verifier? `check_verifier` reports, `assert_lossless` asserts. Does this adapter do all that
an audit needs? `check_adapter` reports, `assert_adapter` asserts.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np

from specaudit.engines.conformance import examine_adapter, examine_form
from specaudit.engines.form import Form
from specaudit.engines.interface import Engine
from specaudit.model.finding import Finding, Verdict
from specaudit.model.plan import Arm
from specaudit.model.record import digest
from specaudit.model.report import Report, exit_code_of
from specaudit.render.sentences import details
from specaudit.verifiers import findings
from specaudit.verifiers.calls import Caller, ContractError, Verify
from specaudit.version import VERSION

ROWS = 200_000
"""Rows behind each finding: enough to see, and to exclude, a total variation of .02."""

ALPHA = 1e-6
"""Probability with which a lossless verifier is accused, over all findings; likewise that a lossy one passes."""

_LAWS = (findings.law, findings.path, findings.ragged)


def check_verifier(
    verify: Verify,
    *,
    to_array: Callable[[np.ndarray], Any] = np.asarray,
    make_rng: Callable[[int], Any] = np.random.default_rng,
    rows: int = ROWS,
    alpha: float = ALPHA,
    seed: int = 0,
) -> Report:
    """Check one verification step of speculative decoding on random worlds whose laws are known.

    `verify(draft, q, p, num_draft, rng)` judges drafts `[B, K]` drawn from the laws q `[B, K, V]` by the target's laws
    p `[B, K + 1, V]`, `num_draft` `[B]` of them in each row, and returns what it emits: tokens `[B, K + 1]`, behind the
    last one −1, and their numbers `[B]`. Places beyond a row's drafts hold tokens and laws that mislead whoever reads
    them. Laws are in double precision and some probabilities are 0.

    The findings: `law` (whole steps have the target's joint law), `path` (so has every place of a step, whether drafts
    are accepted, replaced or followed by the bonus token), `ragged` (so has every row, whatever its length and its
    neighbours), `greedy` (what is certain is emitted) and `padding` (the outcome is well-formed). All bounds hold for
    every sample size; the seeds are fixed, so that a verdict is the same every time.

    Args:
        verify: The verifier.
        to_array: Makes what it takes of a numpy array, e.g. `torch.from_numpy`. It may return arrays of either kind.
        make_rng: Makes its source of randomness of a seed, e.g. `torch.Generator().manual_seed`; asked once.
        rows: Rows behind each finding; with much fewer than 200,000 nothing can conform.
        alpha: Error budget of all findings together.
        seed: Of the worlds, the drafts and the source of randomness.

    Returns:
        A report like that of any audit, with the exit code that it would have.

    Raises:
        ValueError: `rows` is below 1,000, or `alpha` not inside (0, 0.5).
    """
    if rows < 1000:
        raise ValueError(f"rows must be at least 1,000, got {rows}: fewer show nothing. Leave rows= out")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha is an error budget and must be inside (0, 0.5), got {alpha}. Leave alpha= out")
    *streams, for_verifier = np.random.SeedSequence(seed).spawn(len(_LAWS) + 2)
    caller = Caller(
        verify=verify, to_array=to_array, rng=make_rng(int(for_verifier.generate_state(1, np.uint64)[0] >> 1))
    )
    rngs = [np.random.default_rng(stream) for stream in streams]
    found: list[Finding] = []
    try:
        # The cheapest comes first: what is malformed is so in every call.
        found.append(findings.greedy(caller, rngs[-1], max(1000, rows // 20), alpha))
        found += [judge(caller, rng, rows, alpha / len(_LAWS)) for judge, rng in zip(_LAWS, rngs[:-1], strict=True)]
        found.append(_well_formed(caller.rows))
    except ContractError as error:
        found.append(_malformed(str(error)))
    return Report(
        tool=VERSION,
        suite="verifier",
        suite_digest=digest((rows, alpha, seed)),
        arms=(Arm(role="subject", engine=getattr(verify, "__qualname__", type(verify).__qualname__)),),
        evidence_digest=caller.digest,
        complete=True,
        alpha=alpha,
        findings=tuple(found),
        exit_code=exit_code_of(tuple(found)),
        tokens={},
        requests={},
        lost=0,
    )


def assert_lossless(verify: Verify, **options: Any) -> None:
    """Assert that a verifier's output has the target's law; for the arguments see `check_verifier`.

    Raises:
        AssertionError: a finding does not conform; the message tells each that does not, with its witness.
        ValueError: as in `check_verifier`.
    """
    report = check_verifier(verify, **options)
    wrong = [finding for finding in report.findings if finding.verdict is not Verdict.CONFORMS]
    if wrong:
        name = report.arms[0].engine
        raise AssertionError("\n".join([f"{name} is not shown to be lossless.", *map(_told, wrong)]))


def check_adapter(engine: Engine, *, form: Form | None = None) -> Report:
    """Check an adapter against a server that runs: it is probed, and asked some ten short requests.

    The findings: `probe` (what it reveals fits together), `cap`, `choices`, `tokens`, `logprobs` (what comes is what
    the capabilities tell), `greedy` (temperature 0 is sent), `failures` (what cannot be answered is an EngineFailure
    with a sentence), and of an engine behind a form, a finding for each parameter: it changes what is sent or
    is objected to, so that no default of the server ever decides in silence.

    Args:
        engine: What `build(arm, access)` of the adapter returns; it is closed in the end.
        form: How it is written to; that of the engine, if it has one, unless given.

    Returns:
        A report like that of any audit.
    """

    async def examined() -> list[Finding]:
        try:
            return [finding async for finding in examine_adapter(engine)]
        finally:
            await engine.close()

    found = asyncio.run(examined())
    written = form or getattr(engine, "form", None)
    found += list(examine_form(written)) if written is not None else []
    return Report(
        tool=VERSION,
        suite="adapter",
        suite_digest=digest("adapter"),
        arms=(Arm(role="subject", engine=type(engine).__qualname__),),
        evidence_digest="",
        complete=True,
        alpha=ALPHA,
        findings=tuple(found),
        exit_code=exit_code_of(tuple(found)),
        tokens={},
        requests={},
        lost=0,
    )


def assert_adapter(engine: Engine, *, form: Form | None = None) -> None:
    """Assert that an adapter owes an audit nothing; for the arguments see `check_adapter`.

    Raises:
        AssertionError: a finding violates; the message tells each that does.
    """
    wrong = [one for one in check_adapter(engine, form=form).findings if one.verdict is not Verdict.CONFORMS]
    if wrong:
        raise AssertionError("\n".join(["The adapter owes this:", *map(_told, wrong)]))


def _told(finding: Finding) -> str:
    lines = (f"    {line}" for line in details(finding))
    return "\n".join([f"  {finding.check} {finding.verdict}: {finding.summary}", *lines])


def _well_formed(rows: int) -> Finding:
    return Finding(
        check="padding",
        verdict=Verdict.CONFORMS,
        required=True,
        summary=f"All {rows:,} rows hold 1 to num_draft + 1 tokens of the vocabulary, and -1 behind them.",
    )


def _malformed(what: str) -> Finding:
    return Finding(
        check="padding",
        verdict=Verdict.VIOLATES,
        required=True,
        summary=f"The outcome of a step is malformed: {what}.",
        next_step="Return (out [B, K + 1], n_out [B]): n_out tokens a row, then -1",
    )
