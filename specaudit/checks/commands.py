"""Commands that a finding tells its reader to try, whole, so that they can be pasted."""

import shlex

from specaudit.model.plan import Plan


def rerun(plan: Plan, check_id: str, *, new_samples: bool = False) -> str:
    """Return the command that runs one check on the same engines again, on new samples if asked for."""
    words = ["specaudit", "run", *_engines(plan), "--select", check_id]
    seed = plan.seed + 1 if new_samples else plan.seed
    return shlex.join([*words, "--seed", str(seed)] if seed else words)


def with_option(plan: Plan, option: str, value: str) -> str:
    """Return the command that runs the audit again with one more option."""
    return f"{shlex.join(['specaudit', 'run', *_engines(plan)])} {option} {value}"


def _engines(plan: Plan) -> list[str]:
    subject, reference = plan.arm("subject"), plan.arm("reference")
    if subject is None or subject.endpoint is None:
        words = [] if subject is None or subject.engine == "reference" else ["--engine", subject.engine]
        drafts = None if subject is None else subject.draft_tokens
        return words if drafts in (None, 3) else [*words, "--draft-tokens", str(drafts)]
    words = ["--endpoint", subject.endpoint]
    if reference is not None and reference.endpoint is not None:
        words += ["--reference", reference.endpoint]
    if plan.metrics is not None:
        words += ["--metrics", plan.metrics]
    return words if subject.model is None else [*words, "--model", subject.model]
