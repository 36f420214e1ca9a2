"""The header of a plan: which checks run, which are required, and which engines are asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec

from specaudit.audit.audit import Audit
from specaudit.checks import registry
from specaudit.checks.selfsame import SELF
from specaudit.engines.addresses import public_address
from specaudit.engines.embedded import HOME, full_precision_of, home_of, plain_of
from specaudit.engines.registry import IN_PROCESS as IN_PROCESS_FAMILIES
from specaudit.engines.registry import LOADS_MODELS, family_of
from specaudit.model.errors import CouldNotTest, UsageError
from specaudit.model.limits import Limits
from specaudit.model.nearest import nearest
from specaudit.model.plan import Api, Arm, Plan, Role, Speculation
from specaudit.model.suite import SequentialSettings, Suite
from specaudit.version import VERSION

IN_PROCESS = "in process"
"""Stands for the metrics address of an engine that runs in process."""

ENGINE, SERVER = "reference", "auto"
API: Api = "completions"
DRAFT_TOKENS = 3
"""The subject in process, and the engine at an address, unless another is asked for."""


def make_plan(audit: Audit) -> Plan:
    """Return the header of the plan: a pure function of what is asked for, but for the time.

    Raises:
        UsageError: options contradict each other, or name what does not exist.
        CouldNotTest: nothing is selected.
    """
    alpha = audit.suite.alpha if audit.alpha is None else audit.alpha
    if not 0 < alpha < 0.5:
        raise UsageError(
            f"--alpha {alpha:g} is not an error budget: it must lie between 0 and 0.5.",
            hint="specaudit run --alpha 0.001",
        )
    checks = selected(audit.suite, audit.select, audit.ignore)
    arms = _arms(audit, beside={role for check_id in checks for role in registry.get(check_id).beside})
    metrics = _metrics(audit)
    required = _required(audit, checks)
    settings = {check_id: _settings(audit, check_id, required=check_id in required) for check_id in checks}
    return Plan(
        tool=VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        suite=msgspec.structs.replace(audit.suite, alpha=alpha, checks=settings),
        suite_file=audit.suite_file,
        checks=checks,
        required=required,
        arms=arms,
        metrics=metrics[0] if metrics else None,
        replicas=metrics[1:],
        alpha=alpha,
        seed=audit.seed,
        concurrency=audit.suite.concurrency if audit.concurrency is None else audit.concurrency,
        segment=audit.segment or "all",
        limits=checked(audit.limits),
    )


def _settings(audit: Audit, check_id: str, *, required: bool) -> dict[str, Any]:
    """A check's settings as they are recorded."""
    settings = {**audit.suite.checks[check_id], "required": required}
    if audit.fixed_n and issubclass(registry.get(check_id).settings_type, SequentialSettings):
        settings["fixed_n"] = True
    return settings


def checked(limits: Limits) -> Limits:
    """Return limits that make sense together.

    Raises:
        UsageError: a cost is limited and no price is known.
    """
    if limits.max_cost is not None and not limits.priced:
        raise UsageError(
            "--max-cost needs the prices of a million tokens.",
            hint=f"specaudit run --max-cost {limits.max_cost:g} --price-in 0.5 --price-out 1.5",
        )
    return limits


def selected(suite: Suite, select: Sequence[str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the ids of the checks that run, in the suite's order. A family name stands for all its checks.

    Raises:
        UsageError: an id names no check of the suite.
        CouldNotTest: nothing is left.
    """
    names = {check_id: {check_id, registry.family(check_id)} for check_id in suite.checks}
    known = [*names, *dict.fromkeys(registry.family(check_id) for check_id in names)]
    for name in (*select, *ignored):
        if name not in known:
            raise UsageError(
                f"The suite {suite.name!r} has no check {name!r}.{nearest(name.upper(), known)} "
                f"It has: {', '.join(names)}.",
                hint="specaudit list checks",
            )
    chosen = tuple(
        check_id
        for check_id, own in names.items()
        if (not select or not own.isdisjoint(select)) and own.isdisjoint(ignored)
    )
    if not chosen:
        raise CouldNotTest("No check is left to run: the selection is empty.", hint="specaudit list checks")
    return chosen


def _world(suite: Suite, engine: str) -> str:
    """The suite's world, unless the engine's fault is at home in another."""
    home = home_of(engine)
    return suite.world or home if home == HOME else home


def _required(audit: Audit, checks: tuple[str, ...]) -> tuple[str, ...]:
    """Those that the suite marks, and all that a selection names.

    So are CTR where a metrics page is named, and where the endpoint is its own reference, what can hold it against
    itself. Where that leaves none, all are required: an audit that demands nothing would pass whatever it finds.
    """
    if audit.select:
        return checks
    required = tuple(
        check_id
        for check_id in checks
        if registry.settings_of(audit.suite, check_id).required
        or (audit.pages and registry.family(check_id) == "CTR")
        or (audit.reference == SELF and registry.get(check_id).against_itself)
    )
    return required or checks


def _arms(audit: Audit, *, beside: Collection[Role]) -> tuple[Arm, ...]:
    """The engines that are asked; in process also those that only some checks ask `beside` subject and reference."""
    if audit.endpoint is None:
        if option := _given(
            reference=audit.reference,
            metrics=audit.metrics or None,
            model=audit.model,
            api=audit.api,
            stream=audit.stream or None,
            tokenizer=audit.tokenizer,
            segment=audit.segment,
        ):
            raise UsageError(
                f"{option} goes with --endpoint; the embedded decoder brings its own.",
                hint=f"specaudit run --endpoint URL {option} …",
            )
        drafts = DRAFT_TOKENS if audit.draft_tokens is None else audit.draft_tokens
        if drafts < 0:
            raise UsageError("--draft-tokens cannot be negative.", hint="specaudit run --draft-tokens 3")
        if (audit.engine or ENGINE).partition(":")[0] in LOADS_MODELS:
            return _loaded(audit, drafts)
        if option := _given(target=audit.target, draft=audit.draft, speculation=audit.speculation):
            raise UsageError(
                f"{option} goes with an engine that loads models: {', '.join(LOADS_MODELS)}.",
                hint=f"specaudit run --engine {LOADS_MODELS[0]} --target PATH --draft PATH",
            )
        world = audit.world or _world(audit.suite, audit.engine or ENGINE)
        subject = Arm(role="subject", engine=audit.engine or ENGINE, world=world, draft_tokens=drafts)
        plain = Arm(role="reference", engine=ENGINE, world=plain_of(subject.engine, world), draft_tokens=0)
        if audit.full_precision is None and "full-precision" not in beside:
            return (subject, plain)
        full = audit.full_precision or full_precision_of(plain.world or world)
        return (subject, plain, msgspec.structs.replace(plain, role="full-precision", world=full))
    engine = audit.engine or SERVER
    in_process = audit.engine if family_of(engine) in IN_PROCESS_FAMILIES else None
    if option := _given(
        engine=in_process,
        world=audit.world,
        target=audit.target,
        draft=audit.draft,
        speculation=audit.speculation,
        draft_tokens=audit.draft_tokens,
    ):
        raise UsageError(
            f"{option} is for a subject in process, and --endpoint names a server.", hint="specaudit run --endpoint URL"
        )
    if not (audit.model or "").isprintable():
        raise UsageError("--model holds characters that cannot be printed.", hint="specaudit run --endpoint URL")
    subject = Arm(
        role="subject",
        engine=engine,
        endpoint=_address("--endpoint", audit.endpoint),
        model=audit.model,
        api=audit.api or API,
        stream=bool(audit.stream),
        tokenizer=audit.tokenizer,
    )
    third = _third(subject, audit.full_precision)
    if audit.reference is None:
        return (subject, *third)
    if audit.reference == SELF:
        return (subject, msgspec.structs.replace(subject, role="reference"), *third)
    reference = _address("--reference", audit.reference)
    if audit.reference.rstrip("/") == audit.endpoint.rstrip("/"):
        raise UsageError(
            "The reference is the endpoint itself: that compares a server with itself.",
            hint="Serve the same target without speculation and give its address as --reference, or say "
            f"--reference {SELF} to ask the endpoint for first tokens, which are never drafted",
        )
    return (subject, _plain_arm(subject, "reference", reference), *third)


def _third(subject: Arm, address: str | None) -> tuple[Arm, ...]:
    return () if address is None else (_plain_arm(subject, "full-precision", _address("--arm", address)),)


def _plain_arm(subject: Arm, role: Role, endpoint: str) -> Arm:
    return msgspec.structs.replace(subject, role=role, endpoint=endpoint)


def _loaded(audit: Audit, drafts: int) -> tuple[Arm, ...]:
    """A subject that loads its models in this process; plain decoding of the same target is the reference."""
    engine = str(audit.engine)
    speculation: Speculation = audit.speculation or ("draft" if audit.draft else "none")
    hint = f"specaudit run --engine {engine} --target PATH --draft PATH, or --speculation lookup"
    if audit.world is not None:
        raise UsageError("--world is for the embedded decoder; other engines load a --target.", hint=hint)
    if audit.target is None:
        raise UsageError(f"The engine {engine!r} needs a model: --target PATH.", hint=hint)
    if (speculation == "draft") != (audit.draft is not None):
        missing = "needs one: --draft PATH" if audit.draft is None else f"and --speculation {speculation} uses none"
        raise UsageError(f"A draft model is for --speculation draft, {missing}.", hint=hint)
    plain = Arm(role="reference", engine=engine, target=audit.target, speculation="none", draft_tokens=0)
    subject = msgspec.structs.replace(
        plain,
        role="subject",
        draft=audit.draft,
        speculation=speculation,
        draft_tokens=0 if speculation == "none" else drafts,
    )
    if audit.full_precision is None:
        return (subject, plain)
    return (subject, plain, msgspec.structs.replace(plain, role="full-precision", target=audit.full_precision))


def _metrics(audit: Audit) -> tuple[str, ...]:
    if len(set(audit.pages)) < len(audit.pages):
        raise UsageError(
            "--metrics names one page twice: its tokens would count twice.", hint="Give each replica's page once"
        )
    if audit.pages:
        return tuple(_address("--metrics", url) for url in audit.pages)
    return (IN_PROCESS,) if audit.endpoint is None else ()


def _given(**options: object) -> str | None:
    """The first option that was given, as it is written on the command line."""
    return next((f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None), None)


_EXAMPLES = {
    "--metrics": "http://127.0.0.1:8000/metrics",
    "--arm": "full-precision=http://127.0.0.1:8002/v1",
}
"""Addresses as the options take them, where they are not those of an endpoint."""


def _address(option: str, url: str) -> str:
    """Return an address as it may be recorded. One that is wrong is not repeated: it may hold a password."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        whole = False
    if not whole:
        raise UsageError(
            f"{option} needs a whole address, with http:// or https:// before the host.",
            hint=f"specaudit run {option} {_EXAMPLES.get(option, 'http://127.0.0.1:8000/v1')}",
        )
    return public_address(url)
