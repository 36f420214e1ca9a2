"""specaudit: audit deployed speculative decoders."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specaudit.audit.run import run_audit
    from specaudit.testing import assert_lossless, check_verifier

__all__ = ["assert_lossless", "check_verifier", "run_audit"]

_HOMES = {
    "assert_lossless": "specaudit.testing",
    "check_verifier": "specaudit.testing",
    "run_audit": "specaudit.audit.run",
}


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is asked for, so that importing the package costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
