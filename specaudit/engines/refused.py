"""Which fields a server refuses, and under which name it takes the cap."""

from contextlib import suppress
from dataclasses import replace
from typing import Literal

from specaudit.engines.asking import Asker, described, is_final
from specaudit.engines.behaviour import OPEN_PROMPT, probing
from specaudit.engines.interface import EngineFailure
from specaudit.model.completion import Response
from specaudit.model.errors import CouldNotTest
from specaudit.model.plan import Api

_CAPS: tuple[Literal["max_tokens", "max_completion_tokens"], ...] = ("max_tokens", "max_completion_tokens")


async def find_refused(asker: Asker) -> Response:
    """Find the optional fields that the server refuses; return its answer to what is left.

    Messages name a field, several, or none; only leaving fields out tells which are to blame.
    """
    try:
        response = await asker.ask(probing(prompt=OPEN_PROMPT))
    except EngineFailure as error:
        if error.failure.reason != "status" or is_final(error.failure):
            raise asker.could_not_test(error.failure) from error
        asker.note(asker.post, error.failure.message)
        response = await _without_refused(asker)
    asker.note(asker.post, described(response))
    if not response.completions:
        raise CouldNotTest(f"{asker.where} answers without choices.", hint=f"curl {asker.where}/{asker.manner.path}")
    return response


async def _without_refused(asker: Asker) -> Response:
    """Leave out all optional fields, then take back one after the other what the server answers."""
    optional = asker.manner.form.optional
    asker.manner = replace(asker.manner, refused=optional)
    response = await _barest(asker)
    for field in optional:
        without = asker.manner
        asker.manner = replace(without, refused=tuple(name for name in without.refused if name != field))
        if field not in asker.manner.fields(probing()):
            continue  # it is not for this interface
        answer = await asker.answers(probing(prompt=OPEN_PROMPT), f"with {field}")
        if answer is None:
            asker.manner = without
        else:
            response = answer
    return response


async def _barest(asker: Asker) -> Response:
    """Ask with no optional field, under either name of the cap.

    Raises:
        CouldNotTest: the server answers neither; the hint names an option with which it does.
    """
    refusals = []
    for cap in _CAPS:
        asker.manner = replace(asker.manner, cap=cap)
        try:
            return await asker.ask(probing(prompt=OPEN_PROMPT))
        except EngineFailure as error:
            refusals.append(error)
    first = refusals[0]
    if (option := await _helps(asker)) is None:
        raise asker.could_not_test(first.failure) from first
    raise CouldNotTest(first.failure.message, hint=f"specaudit run --endpoint {asker.where} {option}") from first


async def _helps(asker: Asker) -> str | None:
    """Find the option with which a server answers that answers nothing without."""
    bare = asker.manner
    other: Api = "chat" if bare.api == "completions" else "completions"
    for option, changed in (
        ("--stream", replace(bare, stream=True)),
        (f"--api {other}", replace(bare, api=other)),
        (f"--api {other} --stream", replace(bare, api=other, stream=True)),
    ):
        for cap in _CAPS:
            asker.manner = replace(changed, cap=cap)
            with suppress(EngineFailure):
                await asker.ask(probing())
                return option
    return None
