"""What an engine's interface is like: how a request is written for it, and how its answers are read.

A form is all that one engine's adapter has of its own; probing, patience, failures and tokenizers are common to all.
Fields go by the names of `specaudit.model.request.Sampling` until they are written as the engine wants them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from specaudit.model.completion import Response
from specaudit.model.plan import Api
from specaudit.model.request import Request

if TYPE_CHECKING:
    from specaudit.engines.http import Answered, HttpClient
    from specaudit.engines.manner import Manner

Fields = dict[str, Any]


class Form(Protocol):
    """One engine's interface. Pure, but for `prepared`."""

    @property
    def engine(self) -> str:
        """The engine's name, by which its order of filters is known (`specaudit.laws.orders`)."""

    @property
    def optional(self) -> tuple[str, ...]:
        """Fields that a server may refuse, the most valuable first."""

    @property
    def neutral(self) -> Mapping[str, Any]:
        """Sampling fields with the value that changes nothing, as `fields` writes it.

        With it they can be left out; any other value needs them.
        """

    @property
    def tells_law(self) -> bool:
        """Logprobs are those of the law that tokens are drawn from, but for the filters that requests name."""

    def path(self, api: Api) -> str:
        """Where requests go: below the endpoint, or below the server's root where it begins with `/`."""

    def objection(self, request: Request, manner: Manner) -> str:
        """Say why the interface has no way to ask for a request; nothing where it has."""

    def fields(self, request: Request, manner: Manner) -> Fields:
        """Return everything that is to be said, every sampling parameter with it, so that no default decides."""

    def written(self, fields: Fields) -> Fields:
        """Return fields under the engine's own names and in their places: the body of the request."""

    def read(self, answered: Answered, request: Request) -> Response:
        """Read an answer.

        Raises:
            ValueError: it is not of the form; the message says where.
        """

    async def prepared(self, client: HttpClient, request: Request) -> Request:
        """Return the request as it will be written, with what only the server can tell.

        Raises:
            EngineFailure: the server does not tell it.
        """
