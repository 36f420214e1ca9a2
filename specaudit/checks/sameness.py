"""Whether the arms of an audit were asked the same: a prompt that each tokenizes in its own way is two prompts."""

from specaudit.model.evidence import Evidence
from specaudit.model.plan import PLAIN, Role
from specaudit.model.request import Prompt

SAME_PROMPTS = (
    "Serve both with one chat template and one tokenizer. Templates that print the date are told "
    "chat_template_kwargs.date_string, where the server hands it on"
)


def prompts_differ(evidence: Evidence) -> str:
    """Say in a sentence how the arms tokenize a prompt differently; nothing where that is not seen.

    Prompts in which they were probed are held against each other, then all that both were asked in any stage: by
    token ids where both tell them, else by the numbers that they bill.
    """
    for other in PLAIN:
        if differ := _differ_as_probed(evidence, other):
            return differ
        for stage in evidence.stages:
            if differ := _differ_in(evidence, stage, other):
                return differ
    return ""


def _differ_as_probed(evidence: Evidence, other: Role) -> str:
    arms = [evidence.capabilities[role].prompt_tokens for role in ("subject", other) if role in evidence.capabilities]
    for ours, theirs in zip(*arms, strict=True) if len(arms) == 2 and all(arms) else ():
        if ours != theirs:
            return _sentence(f"{ours} tokens", f"{theirs}", other)
    return ""


def _differ_in(evidence: Evidence, stage: str, other: Role) -> str:
    seen: dict[Prompt, dict[Role, tuple[tuple[int, ...] | None, int | None]]] = {}
    arms: tuple[Role, ...] = ("subject", other)
    for role in arms:
        for _, planned, response in evidence.answered(stage, role):
            if response is not None and isinstance(planned.request.prompt, str):
                told = (evidence.prompt_tokens(role, planned.request.prompt), response.prompt_tokens)
                seen.setdefault(planned.request.prompt, {}).setdefault(role, told)
    for found in seen.values():
        if len(found) < len(arms):
            continue
        (our_ids, ours), (their_ids, theirs) = found["subject"], found[other]
        if None not in (ours, theirs) and ours != theirs:
            return _sentence(f"{ours} tokens", f"{theirs}", other)
        if our_ids is not None and their_ids is not None and our_ids != their_ids:
            return _sentence("other tokens", "as many", other)
    return ""


def _sentence(ours: str, theirs: str, other: Role) -> str:
    return (
        f"The subject finds {ours} in a prompt in which the {other} finds {theirs}: their chat templates or "
        "tokenizers differ, so they were not asked the same."
    )
