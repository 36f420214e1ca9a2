"""Settings from files: `specaudit.toml`, or else `[tool.specaudit]` in `pyproject.toml`, of the working directory.

They stand below the command line and the environment, above the suite. A mistake in them is told, never ignored.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest

_OWN, _SHARED = Path("specaudit.toml"), Path("pyproject.toml")


def from_files(names: Iterable[str], command: Callable[[str], click.Command]) -> dict[str, dict[str, Any]]:
    """Return the settings by command and option, as click wants its defaults.

    A table of a command's name holds settings for that command; keys outside such a table are for `run`. What `run`
    is set to is planned by `plan` too, as far as that has the option.

    Raises:
        UsageError: a file is not TOML, or names no command or option, or a value does not fit; the message names
            the file, the key and the nearest valid one.
    """
    where, settings = str(_OWN), _read(_OWN)
    if settings is None:
        where = f"[tool.specaudit] of {_SHARED}"
        settings = (_read(_SHARED) or {}).get("tool", {}).get("specaudit", {})
    if not isinstance(settings, dict):
        raise UsageError(f"{where} is no table.", hint=f"Write [tool.specaudit] in {_SHARED}")
    tables = {key: value for key, value in settings.items() if isinstance(value, dict)}
    loose = {key: value for key, value in settings.items() if key not in tables}
    for name in tables:
        if name not in names:
            raise UsageError(f"{where}: there is no command {name!r}.{nearest(name, names)}", hint="specaudit --help")
    if loose:
        tables["run"] = loose | tables.get("run", {})
    options = {name: _options(command(name), table, f"{where}, {name}") for name, table in tables.items()}
    if "run" in options:
        both = {option.name for option in command("plan").params if option in command("run").params}
        shared = {name: value for name, value in options["run"].items() if name in both}
        options["plan"] = shared | options.get("plan", {})
    return options


def _options(command: click.Command, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The table's values by the names that click knows the options under; of a group, by command and option."""
    if isinstance(command, click.Group):
        own = {name: (_of_group(command, name, where), value) for name, value in table.items()}
        return {
            name: _options(found, _table(value, f"{where}, {name}"), f"{where}, {name}")
            for name, (found, value) in own.items()
        }
    options = {
        name.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
        if name.startswith("--")
    }
    found: dict[str, Any] = {}
    hint = f"specaudit {command.name} --help"
    for key, value in table.items():
        name = key.replace("_", "-")
        if name not in options:
            raise UsageError(f"{where}: unknown key {key!r}.{nearest(name, options)}", hint=hint)
        option = options[name]
        if wanted := _wanted(option, value):
            raise UsageError(f"{where}: {key!r} must be {wanted}, and is {_shown(value)}.", hint=hint)
        try:
            several = [value] if option.multiple and isinstance(value, str) else value
            for each in several if option.multiple else [value]:
                option.type.convert(each, option, None)
        except click.BadParameter as error:
            raise UsageError(f"{where}: {key!r} is wrong: {error.message}", hint=hint) from error
        assert option.name is not None
        found[option.name] = several
    return found


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a table, and is {_shown(value)}.", hint="specaudit --help")
    return value


def _of_group(group: click.Group, name: str, where: str) -> click.Command:
    if name not in group.commands:
        raise UsageError(
            f"{where}: there is no command {name!r}.{nearest(name, group.commands)}",
            hint=f"specaudit {group.name} --help",
        )
    return group.commands[name]


def _wanted(option: click.Option, value: Any) -> str:
    """What an option's value must be, where the given one is of another type; nothing where it is right."""
    if option.is_flag:
        return "" if isinstance(value, bool) else "true or false"
    if option.multiple:
        texts = isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
        return "" if texts else "a text in quotes, or a list of them"
    if isinstance(option.type, click.types.IntParamType):
        return "" if isinstance(value, int) and not isinstance(value, bool) else "a whole number"
    if isinstance(option.type, click.types.FloatParamType):
        return "" if isinstance(value, int | float) and not isinstance(value, bool) else "a number"
    return "" if isinstance(value, str) else "a text in quotes"


def _shown(value: Any) -> str:
    """A value as it may be repeated: a text may hold a password, a number or a truth value none."""
    if isinstance(value, bool | int | float):
        return repr(value)
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a table"


def _read(path: Path) -> dict[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}.", hint=f"Mend {path}, or run elsewhere") from error
