"""Suites: the shipped ones by name, others by path, both from TOML."""

import tomllib
from pathlib import Path

import msgspec

from specaudit.checks import registry
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.model.shipped import named_text, shipped_files
from specaudit.model.suite import Suite
from specaudit.model.toml_mistakes import Mistakes, not_finite
from specaudit.prompts import sets as prompt_sets


def shipped() -> dict[str, Path]:
    """Return the path of every shipped suite by its name."""
    return shipped_files()


def load_suite(name: str) -> Suite:
    """Return a shipped suite by name, or a suite file by path.

    Raises:
        UsageError: there is none, or it has a mistake; the message names key, line and the nearest valid key.
    """
    return parse_suite(*named_text("suite", name, shipped()))


def parse_suite(text: str, where: str) -> Suite:
    """Read a suite from TOML and check every check's settings.

    Raises:
        UsageError: it has a mistake; the message names key, line and the nearest valid key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}.", hint="specaudit run --suite quick") from error
    mistakes = Mistakes(text, where)
    for path in not_finite(data, ()):
        raise UsageError(
            f"{mistakes.place(path)}: {path[-1]!r} is no finite number.", hint="specaudit run --suite quick"
        )
    checks = data.get("checks")
    try:
        suite = msgspec.convert({**data, "checks": {}} if isinstance(checks, dict) else data, type=Suite)
    except msgspec.ValidationError as error:
        raise mistakes.told(error, Suite, (), hint="specaudit run --suite quick") from error
    for name in suite.prompts.sets:
        if name not in prompt_sets.names():
            known = prompt_sets.names()
            raise UsageError(
                f"{mistakes.place(('prompts', 'sets'))}: there is no prompt set {name!r}.{nearest(name, known)}",
                hint="specaudit list prompts",
            )
    for check_id, settings in data["checks"].items():
        table = ("checks", check_id)
        try:
            kind = registry.get(check_id).settings_type
            msgspec.convert(settings, type=kind)
        except UsageError as error:
            raise UsageError(f"{mistakes.place(table)}: {error.message}", hint=error.hint) from error
        except msgspec.ValidationError as error:
            raise mistakes.told(error, kind, table, hint=f"specaudit explain {check_id}") from error
    return msgspec.structs.replace(suite, checks=data["checks"])
