"""Quantities with their units, as data sheets write them: bytes and bits, decimal and binary, told apart."""

import re
from typing import Literal

from specaudit.model.errors import UsageError

Kind = Literal["memory", "bandwidth", "compute"]

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_FORMS: dict[Kind, str] = {
    "memory": r"(?P<prefix>[kMGTP]i?|)(?P<unit>B|bit|b)",
    "bandwidth": r"(?P<prefix>[kMGTP]i?|)(?P<unit>B|bit|b)(/s|ps)",
    "compute": r"(?P<prefix>[kMGTP]|)(?P<unit>(FLOP|OP)(/s|S))",
}
_EXAMPLES: dict[Kind, str] = {
    "memory": "80 GB, or 80 GiB",
    "bandwidth": "4.8 TB/s, or 7200 Gbit/s",
    "compute": "989 TFLOP/s",
}


def quantity(text: str, kind: Kind, what: str) -> float:
    """Return a quantity in bytes, bytes a second or operations a second.

    GB are 10⁹ bytes and GiB 2³⁰; Gbit are an eighth of GB.

    Args:
        text: a number and its unit, e.g. `4.8 TB/s`.
        kind: what it measures.
        what: what the user knows it as.

    Raises:
        UsageError: it has no unit, another kind's, or one that is read in two ways (Gb).
    """
    found = re.fullmatch(rf"\s*(?P<number>\d+(\.\d+)?(e\d+)?)\s*{_FORMS[kind]}\s*", text)
    hint = f"Write it as {_EXAMPLES[kind]}"
    if found is None:
        raise UsageError(f"{what}: {text!r} is no {kind} with a unit.", hint=hint)
    prefix, unit = found["prefix"], found["unit"]
    if unit == "b":
        raise UsageError(f"{what}: {text!r} may mean bits or bytes, which is a factor of eight.", hint=hint)
    size = (_BINARY if prefix.endswith("i") else _DECIMAL)[prefix]
    value = float(found["number"]) * size * (0.125 if unit == "bit" else 1.0)
    if not 0 < value < float("inf"):
        raise UsageError(f"{what}: {text!r} must be above zero.", hint=hint)
    return value
