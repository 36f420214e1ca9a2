"""What a model demands of the tokens that it reads."""

from specaudit.decoding.arrays import IntArray
from specaudit.decoding.models.interface import BOS


def check_tokens(tokens: IntArray, count: IntArray, vocabulary: int) -> None:
    """Refuse tokens that a model of `V` tokens cannot read.

    Args:
        tokens: `[b, T]`.
        count: `[b]`.
        vocabulary: `V`.

    Raises:
        ValueError: shapes disagree, a token is outside the vocabulary and not BOS, or a count is not 1 to T.
    """
    if tokens.ndim != 2 or count.shape != tokens.shape[:1]:
        raise ValueError(f"tokens must be [b, T] and count [b], got {list(tokens.shape)} and {list(count.shape)}")
    if (bad := ((tokens < BOS) | (tokens >= vocabulary)).any(axis=1)).any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: tokens {tokens[row].tolist()} are not all among {vocabulary} tokens or BOS (-1)")
    if (bad := (count < 1) | (count > tokens.shape[1])).any():
        row = int(bad.argmax())
        raise ValueError(f"row {row}: count must be 1 to {tokens.shape[1]}, got {count[row]}")
