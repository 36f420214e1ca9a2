"""What answers are billed for, and the tokens that arrived with them."""

from dataclasses import dataclass

from specaudit.model.completion import Response
from specaudit.model.finding import Witness


@dataclass(frozen=True, kw_only=True)
class Bill:
    """One answer's bill."""

    slot: int
    billed: int
    least: int
    """Tokens that arrived, and those that reasoning is said to have taken and was not shown."""
    most: int
    """With the tokens that end an answer, which engines bill and do not show."""

    @property
    def witness(self) -> Witness:
        """The bill beside what arrived."""
        return Witness(
            what=f"answer to request {self.slot}",
            observed=float(self.billed),
            expected=float(self.least),
            unit="tokens billed and arrived",
        )


def bill(slot: int, response: Response | None) -> Bill | None:
    """Return the bill of an answer; None where it is lost, names no number of tokens, or does not show them."""
    if response is None or response.completion_tokens is None:
        return None
    arrived = 0
    for completion in response.completions:
        if completion.tokens is None:
            return None
        arrived += len(completion.tokens)
    shown = sum(completion.reasoning_length or 0 for completion in response.completions)
    hidden = max(0, (response.reasoning_tokens or 0) - shown)
    ended = sum(completion.finish_reason != "length" for completion in response.completions)
    return Bill(slot=slot, billed=response.completion_tokens, least=arrived + hidden, most=arrived + hidden + ended)
