"""Asking a server while it is probed: patiently, within the budget, and with a note of every exchange."""

from collections.abc import Mapping
from typing import Any

from specaudit.engines.call import call
from specaudit.engines.http import BUSY, HttpClient, one_line
from specaudit.engines.interface import EngineFailure
from specaudit.engines.manner import Manner
from specaudit.engines.pace import Pacer
from specaudit.model.completion import Response
from specaudit.model.entries import Failure
from specaudit.model.errors import CouldNotTest
from specaudit.model.limits import NOTHING, UNLIMITED, at_most, cost_of
from specaudit.model.request import Request
from specaudit.prompts.tokenizers import Tokenizer

_SHOWN = 300
"""Characters of an exchange that are kept."""


class Asker:
    """Asks one server in a manner that may change from request to request.

    Args:
        client: the server.
        manner: how to ask it, as far as that is known.
        tokenizer: divides text into tokens where the server tells none.
        pacer: gives requests their turn.
    """

    def __init__(
        self,
        client: HttpClient,
        manner: Manner,
        tokenizer: Tokenizer | None = None,
        pacer: Pacer | None = None,
    ) -> None:
        self.manner = manner
        """How the server has to be asked; settled by probing."""
        self.where = client.where.rstrip("/")
        self.exchanges: list[str] = []
        self.spent = NOTHING
        self.counted_in_answers = False
        """Whether some answer told of its speculation."""
        self._client = client
        self._tokenizer = tokenizer
        self._pacer = pacer or Pacer(UNLIMITED)

    @property
    def post(self) -> str:
        """What requests are called in the notes."""
        return f"POST /{self.manner.path.removeprefix('/')}"

    async def page(self, path: str) -> Mapping[str, Any] | None:
        """Return a JSON page of the server's own; None where there is none."""
        try:
            return await self._client.get_json(path)
        except EngineFailure:
            return None

    async def models(self) -> dict[str, Any]:
        """Return the list of models.

        Raises:
            EngineFailure: there is none.
        """
        return await self._pacer.patiently(lambda: self._client.get_json("models"), 0)

    async def ask(self, request: Request, further: Mapping[str, Any] | None = None) -> Response:
        """Return the answer to a request, with further fields sent beside as they are.

        Raises:
            EngineFailure: there is none.
        """
        most = at_most(request)
        try:
            response = await self._pacer.patiently(
                lambda: call(self._client, self.manner, request, tokenizer=self._tokenizer, further=further),
                most.tokens,
            )
        except EngineFailure as error:
            self.spent += most if error.failure.lost else NOTHING
            raise
        self.spent += cost_of(request, response)
        self.counted_in_answers |= response.speculation is not None
        return response

    async def answers(self, request: Request, what: str) -> Response | None:
        """Return the answer to a request that the server may refuse, or None where it does.

        Raises:
            CouldNotTest: it would not answer any other request either.
        """
        try:
            response = await self.ask(request)
        except EngineFailure as error:
            if is_final(error.failure):
                raise self.could_not_test(error.failure) from error
            self.note(f"{self.post} {what}", error.failure.message)
            return None
        self.note(f"{self.post} {what}", described(response))
        return response

    def note(self, asked: str, answered: str) -> None:
        """Keep what was asked and answered, in a line."""
        self.exchanges.append(one_line(f"{asked}: {answered}")[:_SHOWN])

    def could_not_test(self, failure: Failure) -> CouldNotTest:
        """Return the error that a failure ends a probe with, and the next command."""
        look = f"curl {self.where}/models"
        if failure.status in (401, 403):
            hint = "export OPENAI_API_KEY=… (or SPECAUDIT_REFERENCE_API_KEY for a reference elsewhere)"
        elif failure.status == 404 and self.manner.path.startswith("/"):
            hint = f"Is it {self.manner.form.engine}? Leave --engine out to find out"
        elif failure.status == 404 or failure.reason == "protocol":
            hint = f"Does the address end in /v1? {look}"
        elif failure.reason == "connect":
            hint = f"Is the server running? {look}"
        else:
            hint = look
        return CouldNotTest(failure.message, hint=hint)


def is_final(failure: Failure) -> bool:
    """Return whether any other request would meet the same."""
    return failure.reason == "connect" or failure.status in (401, 403, *BUSY)


def described(response: Response) -> str:
    """Return an answer in a few words."""
    first = response.completions[0] if response.completions else None
    return f"{len(response.completions)} choices, first tokens {first.tokens if first else None}"
