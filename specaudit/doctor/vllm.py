"""What a vLLM server tells of how it runs its model, in development mode; else a table says what decides."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from specaudit.doctor.advice import vllm_state
from specaudit.doctor.vllm_runner import runner
from specaudit.model.checkup import Item

PAGE = "/server_info?config_format=json"
"""Served in development mode only (VLLM_SERVER_DEV_MODE=1). As text, which is its default, the configuration lacks how
it is scheduled (VllmConfig.__str__, vLLM 0.32)."""


def vllm_items(page: Mapping[str, Any] | None) -> Iterator[Item]:
    """Yield whether scheduling is asynchronous and which model runner is used, as far as the server tells."""
    told = "" if page is None else str(page.get("vllm_config", ""))
    found = re.search(r"async_scheduling['\"]?\s*[=:]\s*(True|False|true|false)", told)
    answer = "the server does not tell; what switches it off in silence is listed below"
    question = "Is scheduling asynchronous?"
    if found is None:
        yield Item(topic="engine", question=question, state="unknown", answer=answer)
    else:
        on = found[1].lower() == "true"
        yield Item(topic="engine", question=question, state="yes" if on else "no", answer="as /server_info tells")
    used = runner(page or {})
    where = vllm_state()
    needs = f"{where['needs'][0].upper()}{where['needs'][1:]}"
    yield Item(
        topic="engine",
        question="Which model runner is it?",
        state="unknown" if used.which == "unknown" else "yes",
        answer=f"{'' if used.which == 'unknown' else f'the {used.which} one: '}{used.why}. "
        f"Requests live, old: {where['old']}; new: {where['new']}. {needs}",
    )
