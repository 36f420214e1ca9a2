"""Calling a verifier in whatever arrays it works on, and holding what comes back against the contract."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from specaudit.verifiers.worlds import Batch, Tokens

Verify: TypeAlias = Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
"""`verify(draft [B, K], q [B, K, V], p [B, K + 1, V], num_draft [B], rng) -> (out [B, K + 1], n_out [B])`."""


class ContractError(Exception):
    """What came back is no outcome of a step; the message says what it is, as a sentence fragment."""


@dataclass(kw_only=True)
class Caller:
    """Calls one verifier, and remembers everything that it emitted as a digest.

    Attributes:
        verify: The verifier.
        to_array: Turns a numpy array into what the verifier takes.
        rng: The source of randomness that every call hands on.
        rows: Rows that were verified.
    """

    verify: Verify
    to_array: Callable[[Any], Any]
    rng: Any
    rows: int = 0
    _emitted: Any = field(default_factory=hashlib.sha256, init=False)

    def __call__(self, batch: Batch) -> tuple[Tokens, Tokens]:
        """Return the tokens emitted `[B, K + 1]` and their numbers `[B]`.

        Raises:
            ContractError: they are no outcome of a step.
        """
        draft, q, p, num_draft = (self.to_array(part) for part in (batch.draft, batch.q, batch.p, batch.num_draft))
        returned = self.verify(draft, q, p, num_draft, self.rng)
        out, n_out = outcome(returned, batch.num_draft, width=batch.draft.shape[1], vocabulary=batch.p.shape[2])
        self.rows += len(out)
        self._emitted.update(out.tobytes() + n_out.tobytes())
        return out, n_out

    @property
    def digest(self) -> str:
        """SHA-256 of all that was emitted."""
        return str(self._emitted.hexdigest())


def outcome(returned: Any, num_draft: Tokens, *, width: int, vocabulary: int) -> tuple[Tokens, Tokens]:
    """Return what a verifier returned as the tokens emitted `[B, K + 1]` and their numbers `[B]`.

    Args:
        returned: by the verifier, in arrays of any library.
        num_draft: drafts of each row `[B]`.
        width: K.
        vocabulary: V.

    Raises:
        ContractError: it is no outcome of a step.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise ContractError(f"a {type(returned).__name__} came back, not the pair (out, n_out)")
    out, n_out = (_whole_numbers(name, array) for name, array in zip(("out", "n_out"), returned, strict=True))
    _check(out, n_out, num_draft, width, vocabulary)
    return out, n_out


def _whole_numbers(name: str, array: Any) -> Tokens:
    """Copy what a verifier returned to the host; tensors are known by their methods, so that no library is needed."""
    for method in ("detach", "cpu", "numpy"):
        if not isinstance(array, np.ndarray) and hasattr(array, method):
            array = getattr(array, method)()
    found = np.asarray(array)
    if found.dtype.kind not in "iu":
        raise ContractError(f"{name} holds {found.dtype}, not whole numbers")
    return np.ascontiguousarray(found, dtype=np.int64)


def _check(out: Tokens, n_out: Tokens, num_draft: Tokens, width: int, vocabulary: int) -> None:
    rows = len(num_draft)
    if out.shape != (rows, width + 1) or n_out.shape != (rows,):
        raise ContractError(
            f"out is {list(out.shape)} and n_out {list(n_out.shape)}, not {[rows, width + 1]} and {[rows]}"
        )
    if (bad := (n_out < 1) | (n_out > num_draft + 1)).any():
        row = int(bad.argmax())
        raise ContractError(f"n_out[{row}] is {n_out[row]}, not 1 to {num_draft[row] + 1}")
    emitted = np.arange(width + 1) < n_out[:, None]
    for name, wrong, right in (
        ("", emitted & ((out < 0) | (out >= vocabulary)), f"one of {vocabulary} tokens"),
        (", behind the last token,", ~emitted & (out != -1), "-1"),
    ):
        if wrong.any():
            row, i = map(int, np.argwhere(wrong)[0])
            raise ContractError(f"out[{row}, {i}]{name} is {out[row, i]}, not {right}")
