"""Files that come with the package, by name: suites, prompts, claims."""

from importlib.resources import files
from pathlib import Path

from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest

_INSTALLED = "shipped/suites"
"""Inside the wheel. In a checkout the same files stand in `suites/` beside the package."""


def shipped_files(folder: str = "") -> dict[str, Path]:
    """Return the path of every shipped TOML file by its name: suites, or what stands in a folder beside them."""
    package = Path(str(files("specaudit")))
    suites = package / _INSTALLED
    suites = suites if suites.is_dir() else package.parent / "suites"
    return {path.stem: path for path in sorted((suites / folder).glob("*.toml"))}


def named_text(what: str, name: str, known: dict[str, Path]) -> tuple[str, str]:
    """Return the text of a shipped file by name, or of any by path, and how to call it in a message.

    Args:
        what: A `suite` or a `claim`.
        name: Of a shipped one, or a path.
        known: The shipped ones.

    Raises:
        UsageError: there is none, or it is no text; the message names the nearest.
    """
    path, hint = known.get(name, Path(name)), f"specaudit list {what}s"
    if name not in known and path.suffix != ".toml":
        raise UsageError(f"There is no {what} {name!r}.{nearest(name, known)}", hint=hint)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text, so it is no {what}.", hint=hint) from error
    return text, f"{what} {name}" if name in known else str(path)
