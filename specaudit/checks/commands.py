"""Commands that a finding tells its reader to try, whole, so that they can be pasted."""

import shlex
from typing import Any

from specaudit.checks.selfsame import SELF, is_self
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Arm, Plan
from specaudit.model.record import to_json
from specaudit.model.request import GREEDY, Request
from specaudit.model.shipped import shipped_files


def again(plan: Plan) -> str:
    """Return the command that runs the whole audit again, on the same samples where the engine can repeat them."""
    words = ["specaudit", "run", *_engines(plan), "--suite", _suite_file(plan)]
    return shlex.join([*words, "--seed", str(plan.seed)] if plan.seed else words)


_AS_OPENAI = ("openai", "vllm", "sglang")
"""Engines that take a request in the form of OpenAI's, with vLLM's names for what that has not."""


def one_request(evidence: Evidence, check_id: str, request: Request) -> str:
    """Return the curl command that asks the subject's address what shows a deviation all by itself.

    In process, of engines that are asked in a form of their own, and for what is not greedy, whose parameters would all
    have to be said, the command that runs the check again. A key is taken from the environment by the shell.
    """
    plan, found = evidence.plan, evidence.capabilities.get("subject")
    subject = plan.arm("subject")
    if subject is None or subject.endpoint is None or found is None or found.engine not in _AS_OPENAI:
        return rerun(plan, check_id)
    if request.sampling != GREEDY:
        return rerun(plan, check_id)
    asked: dict[str, Any] = {"prompt": request.prompt}
    if subject.api == "chat":
        asked = {"messages": [{"role": "user", "content": request.prompt}]}
    said = {
        "stop": request.stop,
        "stop_token_ids": request.stop_token_ids,
        "min_tokens": request.min_tokens,
        "ignore_eos": request.ignore_eos,
    }
    body = {
        "model": found.model,
        **asked,
        "temperature": request.sampling.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        **{name: value for name, value in said.items() if value},
    }
    kept = {name: value for name, value in body.items() if name not in found.refused}
    path = "chat/completions" if subject.api == "chat" else "completions"
    words = shlex.quote(f"{subject.endpoint.rstrip('/')}/{path}")
    headers = '-H "Authorization: Bearer $SPECAUDIT_API_KEY" -H "Content-Type: application/json"'
    return f"curl {words} {headers} -d {shlex.quote(to_json(kept).decode())}"


_FOUND_OUT = ("auto", "openai")
"""Engines at an address for which nothing need be said; the second is that of evidence from before they were told."""


def rerun(plan: Plan, check_id: str, *, new_samples: bool = False) -> str:
    """Return the command that runs one check on the same engines again, on new samples if asked for.

    Args:
        plan: The header. Its suite tells how the check is to be run; where it has it not, the usual one does.
        check_id: The check.
        new_samples: Whether to take other seeds.
    """
    suite = _suite(plan) if check_id in plan.suite.checks else []
    words = ["specaudit", "run", *_engines(plan), *suite, "--select", check_id]
    seed = plan.seed + 1 if new_samples else plan.seed
    return shlex.join([*words, "--seed", str(seed)] if seed else words)


def with_option(plan: Plan, option: str, value: str) -> str:
    """Return the command that runs the audit again with one more option, or with another value of it."""
    words = [*_engines(plan), *_suite(plan)]
    if option in words:
        del words[(place := words.index(option)) : place + 2]
    return f"{shlex.join(['specaudit', 'run', *words])} {option} {value}"


def _suite(plan: Plan) -> list[str]:
    """How the suite is named; not at all where it is what is run when none is named."""
    subject, reference = plan.arm("subject"), plan.arm("reference")
    served = subject is not None and subject.endpoint is not None
    usual = "one-endpoint" if served and (reference is None or is_self(plan)) else "quick"
    return [] if plan.suite.name == usual and not plan.suite_file else ["--suite", _suite_file(plan)]


def _suite_file(plan: Plan) -> str:
    """A shipped suite goes by its name, another by its path; where that is not recorded, it has its name by custom."""
    name = plan.suite.name
    return plan.suite_file or (name if name in shipped_files() else f"{name}.toml")


def _engines(plan: Plan) -> list[str]:
    subject, reference = plan.arm("subject"), plan.arm("reference")
    if subject is None:
        return []
    if subject.endpoint is None:
        return _in_process(subject)
    words = ["--endpoint", subject.endpoint]
    if subject.engine not in _FOUND_OUT:
        words = ["--engine", subject.engine, *words]
    if reference is not None and reference.endpoint is not None:
        words += ["--reference", SELF if is_self(plan) else reference.endpoint]
    for page in (plan.metrics, *plan.replicas):
        words += ["--metrics", page] if page is not None else []
    if (full := plan.arm("full-precision")) is not None and full.endpoint is not None:
        words += ["--arm", f"full-precision={full.endpoint}"]
    if subject.model is not None:
        words += ["--model", subject.model]
    if subject.api != "completions":
        words += ["--api", subject.api]
    if subject.stream:
        words.append("--stream")
    if subject.tokenizer is not None:
        words += ["--tokenizer", subject.tokenizer]
    return words if plan.segment == "all" else [*words, "--segment", plan.segment]


def _in_process(subject: Arm) -> list[str]:
    words = [] if subject.engine == "reference" else ["--engine", subject.engine]
    for option, folder in (("--target", subject.target), ("--draft", subject.draft)):
        words += [option, folder] if folder is not None else []
    if subject.speculation == "lookup":  # a draft model speaks for itself, and nothing is said of none
        words += ["--speculation", subject.speculation]
    plain = subject.target is not None and subject.draft_tokens == 0
    return (
        words if plain or subject.draft_tokens in (None, 3) else [*words, "--draft-tokens", str(subject.draft_tokens)]
    )
