"""The audit that the options of `specaudit run` and `plan` name."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from specaudit.cli.arms import arms_of
from specaudit.cli.limit_options import NAMES as LIMITS
from specaudit.cli.limit_options import limits_of

if TYPE_CHECKING:
    from specaudit.audit.audit import Audit
    from specaudit.audit.events import Listener
    from specaudit.audit.resume import Resume
    from specaudit.audit.shards import Shard

_AT_ADDRESS = ("endpoint", "reference", "metrics", "model", "api", "stream", "tokenizer", "segment")
_IN_PROCESS = ("engine", "world", "target", "draft", "speculation", "draft_tokens")

_NEAREST = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)


def new_audit(context: click.Context, options: dict[str, Any], **where: Any) -> "Audit":
    """Return an audit as options ask for it; `where` its evidence goes and who listens is given by name."""
    from specaudit.audit.audit import Audit
    from specaudit.audit.keys import keys_from_environment

    asked = one_subject(context, {name: value for name, value in options.items() if name not in LIMITS})
    asked |= arms_of(context, asked)
    asked["suite"] = asked["suite"] or suite_for(asked)
    read, claim = _read(asked) | {"suite_file": _suite_file(asked["suite"])}, asked.pop("claim")
    del read["claim"]
    if claim is not None:
        from specaudit.audit.claims import with_claim
        from specaudit.claims.reading import load_claim

        read["suite"] = with_claim(read["suite"], load_claim(claim), claim)
    return Audit(limits=limits_of(options), **where, **read, **keys_from_environment())


def _suite_file(suite: str) -> str:
    """The path of a suite that is none of the shipped ones."""
    from specaudit.model.shipped import shipped_files

    return "" if suite in shipped_files() else suite


def suite_for(options: dict[str, Any]) -> str:
    """Return the suite that is meant where none is named."""
    alone = options["endpoint"] is not None and options["reference"] in (None, "self")
    return "one-endpoint" if alone else "quick"


def recorded_audit(context: click.Context, folder: Path, options: dict[str, Any], listener: "Listener") -> "Resume":
    """Return a recorded audit, with what the command line says of it again, in the order of its options."""
    from specaudit.audit.keys import keys_from_environment
    from specaudit.audit.resume import ADDRESSES, Resume

    del options["claim"]  # it is in the recorded plan
    ways = ("timeout", "allow_inconclusive", "headers", "ca_file", "shard", "scheduler")
    manner = _read({name: options.pop(name) for name in ways})
    options |= (given := arms_of(context, options))
    addresses = {name: options[name] for name in ADDRESSES} | {"metrics": _pages(options["metrics"])}
    names = [option.name for option in context.command.params if option.name in options]
    said = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if context.get_parameter_source("arms") is ParameterSource.COMMANDLINE:
        said += [name for name, url in given.items() if url is not None]
    return Resume(
        folder=folder,
        said=_read({name: options[name] for name in said if name not in LIMITS}),
        limits={name: options[name] for name in said if name in LIMITS},
        addresses={name: url for name, url in addresses.items() if url is not None and name not in said},
        listener=listener,
        **manner,
        **keys_from_environment(),
    )


def _read(options: dict[str, Any]) -> dict[str, Any]:
    """The options with suite and selection read."""
    from specaudit.audit.suites import load_suite

    readers: dict[str, Callable[[Any], Any]] = {
        "suite": load_suite,
        "select": _selection,
        "ignore": _ids,
        "headers": dict,
        "shard": _shard,
        "metrics": _pages,
    }
    return {name: readers[name](value) if name in readers else value for name, value in options.items()}


def _pages(urls: tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    """The metrics page, or the pages of several replicas."""
    return urls[0] if urls and len(urls) == 1 else urls or None


def one_subject(context: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Put aside a subject that is named further from the command line than the other, with all that goes with it.

    So `--engine mutant:NAME` works where OPENAI_BASE_URL is set or specaudit.toml names an endpoint.
    """
    from specaudit.engines.registry import IN_PROCESS, family_of

    def distance(names: tuple[str, ...]) -> int:
        sources = [context.get_parameter_source(name) for name in names if options[name] is not None]
        return min((_NEAREST.index(source) for source in sources if source in _NEAREST), default=len(_NEAREST))

    servers = options["engine"] is not None and family_of(options["engine"]) not in IN_PROCESS
    in_process_options = tuple(name for name in _IN_PROCESS if name != "engine") if servers else _IN_PROCESS
    at_address, in_process = distance(_AT_ADDRESS), distance(in_process_options)
    if at_address == in_process:
        return options
    return options | dict.fromkeys(_AT_ADDRESS if in_process < at_address else in_process_options)


def _selection(text: str | None) -> tuple[str, ...]:
    """The checks that are asked for: none stands for all, unless none is what was asked for."""
    from specaudit.model.errors import CouldNotTest

    ids = _ids(text)
    if text is not None and not ids:
        raise CouldNotTest("No check is left to run: --select names none.", hint="specaudit list checks")
    return ids


def _shard(text: str | None) -> "Shard":
    from specaudit.audit.shards import WHOLE, Shard

    return WHOLE if text is None else Shard.parse(text)


def _ids(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip().upper() for part in (text or "").split(",") if part.strip())
