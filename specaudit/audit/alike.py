"""Tokens that are told alike: where one arm tells text only, the text of every arm is divided alike."""

from collections.abc import Mapping

import msgspec

from specaudit.audit.record import Recorder
from specaudit.engines.interface import Engine, Retokenizer
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import ProbeEntry
from specaudit.model.plan import Role

_SAID = "tokens: those that its text is divided into, as in the other arm, which tells text only"


def tell_alike(engines: Mapping[Role, Engine], recorder: Recorder) -> None:
    """Let engines that tell tokens of their own be read by the tokenizer too, if another has to be, and record it."""
    found = recorder.evidence().capabilities
    if not any(capabilities.tokens == "retokenized" for capabilities in found.values()):
        return
    for role, capabilities in found.items():
        engine = engines[role]
        if capabilities.tokens == "retokenized" or not isinstance(engine, Retokenizer):
            continue
        engine.retokenize()
        recorder.append(ProbeEntry(role=role, capabilities=retokenized(capabilities), exchanges=(_SAID,)))


def retokenized(capabilities: Capabilities) -> Capabilities:
    """Return what an engine reveals whose text is divided by a tokenizer: the law of its own tokens is of no use."""
    return msgspec.structs.replace(
        capabilities,
        tokens="retokenized",
        token_prompts=False,
        logprobs=0,
        logprobs_mode="unknown",
        scores_prompts=False,
        segments=True,
    )
