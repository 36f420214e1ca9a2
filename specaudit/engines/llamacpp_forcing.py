"""Teacher forcing by llama.cpp's `/completion`, which tells no logprobs of a prompt's own tokens.

The tokens to be scored are generated: a grammar that allows one token at each place leaves no choice
(`<[1000]>` is the token with that id, llama.cpp pull request 17816, December 2025), and the logprobs that the server
reports beside them are of before all samplers, the grammar among them. Older servers refuse such a grammar, and every
server a token that ends a sequence with something behind it. Behind the forced tokens the grammar allows any text.
"""

from collections.abc import Sequence

import msgspec

from specaudit.model.completion import Completion, Response
from specaudit.model.request import Request


def forced(request: Request) -> tuple[int, ...]:
    """Return the tokens of a request's prompt that are to be scored; none where it asks for no scores."""
    if request.score_from is None or isinstance(request.prompt, str):
        return ()
    return request.prompt[request.score_from :]


def grammar_of(tokens: Sequence[int]) -> str:
    """Return a grammar of these tokens and any text."""
    return f"root ::= {' '.join(f'<[{token}]>' for token in tokens)} .*"


def apart(response: Response, request: Request) -> Response:
    """Return the answer to a request whose last prompt tokens were generated: with their scores, and without them.

    Raises:
        ValueError: other tokens came back, or not one logprob for each.
    """
    wanted = forced(request)
    if not wanted:
        return response
    count = len(wanted)
    (completion,) = response.completions
    tokens, logprobs = completion.tokens or (), completion.logprobs or ()
    if tokens[:count] != wanted or len(logprobs) < count:
        raise ValueError("the tokens that were to be scored did not come back, each with its logprobs")
    behind = Completion(
        tokens=tokens[count:],
        finish_reason=completion.finish_reason,
        logprobs=logprobs[count:],
        timings=completion.timings,
    )
    billed, read = response.completion_tokens, response.prompt_tokens
    return msgspec.structs.replace(
        response,
        completions=(behind,),
        prompt_token_ids=request.prompt,
        scores=logprobs[:count],
        prompt_tokens=None if read is None else read + count,
        completion_tokens=None if billed is None else billed - count,
        speculation=None,
    )
