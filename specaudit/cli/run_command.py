"""`specaudit run`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from specaudit.cli.arms import arms_of, plain_arm
from specaudit.cli.estimate import show_estimate
from specaudit.cli.headers import secret_header
from specaudit.cli.limit_options import NAMES as LIMITS
from specaudit.cli.limit_options import limit_options, limits_of
from specaudit.cli.reports import report_file

if TYPE_CHECKING:
    from specaudit.audit.events import Listener
    from specaudit.audit.resume import Resume
    from specaudit.audit.run import Audit
    from specaudit.audit.shards import Shard

_AT_ADDRESS = ("endpoint", "reference", "metrics", "model", "api", "stream", "tokenizer", "segment")
_IN_PROCESS = ("engine", "world", "target", "draft", "speculation", "draft_tokens")

_NEAREST = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP)


@click.command("run")
@click.option(
    "--endpoint",
    "--base-url",
    metavar="URL",
    envvar=["SPECAUDIT_RUN_ENDPOINT", "OPENAI_BASE_URL"],
    help="The subject: an OpenAI-compatible server, …/v1.",
)
@click.option(
    "--reference",
    metavar="URL|self",
    help="The same target served without speculation, …/v1; or the endpoint itself, asked for first tokens.",
)
@click.option(
    "--arm",
    "arms",
    metavar="ROLE=URL",
    type=plain_arm,
    multiple=True,
    help="Another plain server: full-precision=URL, the target before it was quantised (repeatable).",
)
@click.option(
    "--metrics",
    metavar="URL",
    multiple=True,
    help="The subject's metrics page, or one for each replica (repeatable); makes the CTR checks required.",
)
@click.option("--model", metavar="NAME", help="Model to ask for.  [default: the first that is served]")
@click.option(
    "--api", type=click.Choice(["completions", "chat"]), help="Interface of the servers.  [default: completions]"
)
@click.option("--stream", is_flag=True, default=None, help="Ask the servers for streams.")
@click.option(
    "--header",
    "headers",
    metavar="NAME=ENVVAR",
    type=secret_header,
    multiple=True,
    help="Send a header with the value of an environment variable to the endpoint (repeatable).",
)
@click.option(
    "--ca-file", metavar="PATH", type=click.Path(path_type=Path), help="Certificates to trust (PEM).  [default: usual]"
)
@click.option(
    "--tokenizer", metavar="PATH", help="tokenizer.json, or JSON of token texts and ids, for servers that tell none."
)
@click.option(
    "--engine",
    metavar="NAME",
    help="In process: reference, mutant:NAME, control:NAME; or what --endpoint is.  [default: found out]",
)
@click.option("--world", metavar="NAME", help="What the embedded decoder decodes.  [default: the engine's home]")
@click.option("--target", metavar="PATH", help="Folder of the model that an engine in process loads.")
@click.option("--draft", metavar="PATH", help="Its draft model.")
@click.option(
    "--speculation",
    type=click.Choice(["draft", "lookup", "none"]),
    help="Where its drafts come from.  [default: the draft model, if there is one]",
)
@click.option("--draft-tokens", metavar="K", type=int, help="Drafts per step, in process.  [default: 3]")
@click.option(
    "--segment",
    type=click.Choice(["all", "reasoning", "answer"]),
    help="Part of completions that is judged.  [default: all]",
)
@click.option(
    "--suite",
    metavar="NAME|FILE",
    help="What to check.  [default: quick; one-endpoint where an endpoint has no other to be held against]",
)
@click.option("--claim", metavar="NAME|FILE", help="What the vendor claims, to be judged too (specaudit list claims).")
@click.option("--select", metavar="IDS", help="Run only these checks or families, and require them (comma-separated).")
@click.option("--ignore", metavar="IDS", help="Leave these checks or families out (comma-separated).")
@click.option(
    "--fixed-n",
    is_flag=True,
    default=None,
    help="Collect whole samples and test once, instead of stopping as soon as a deviation is shown.",
)
@click.option("--alpha", metavar="X", type=float, help="Error budget of the whole audit.  [default: the suite's]")
@click.option(
    "--seed", metavar="N", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of the plan."
)
@click.option(
    "--concurrency", metavar="N", type=click.IntRange(1, 1024), help="Requests in flight.  [default: the suite's]"
)
@limit_options
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 86_400),
    default=120.0,
    show_default=True,
    help="Silence after which an answer is given up.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the evidence.  [default: a new one in specaudit-runs]",
)
@click.option(
    "--report",
    "reports",
    metavar="FORMAT=FILE",
    type=report_file,
    multiple=True,
    envvar="SPECAUDIT_RUN_REPORT",
    help="Write the report to a file too, e.g. junit=specaudit.xml (repeatable).",
)
@click.option(
    "--shard",
    metavar="i/N",
    help="Ask this part of the plan; other machines ask theirs, and `specaudit merge` joins them.",
)
@click.option(
    "--scheduler", metavar="URL", help="Let the workers of a Dask cluster ask, each a shard, e.g. tcp://127.0.0.1:8786."
)
@click.option(
    "--resume",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Go on with an audit that was broken off, as its plan in DIR says.",
)
@click.option(
    "--dry-run", is_flag=True, help="Say what would be asked and what it costs, as `plan` does; send nothing."
)
@click.option("--json", is_flag=True, help="Print the report as JSON.")
@click.option("--allow-inconclusive", is_flag=True, help="Exit with 0 when nothing was shown either way.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="All figures and assumptions; what bets earn meanwhile.")
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    suite: str | None,
    select: str | None,
    ignore: str | None,
    out: Path | None,
    reports: tuple[tuple[str, Path], ...],
    resume: Path | None,
    dry_run: bool,
    json: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Audit an engine: plan, collect, judge, report.

    Without --endpoint the embedded reference decoder is audited. The result goes to stdout, progress to stderr,
    the evidence to --out. In a job of GitHub Actions, annotations go to stderr and the job's summary gets a section.

    A key is taken from SPECAUDIT_API_KEY or OPENAI_API_KEY and sent to the endpoint's scheme, host and port only, as
    headers are; SPECAUDIT_REFERENCE_API_KEY is the reference's. Every option is also read from the environment
    (--suite from SPECAUDIT_RUN_SUITE, and so on; --endpoint from OPENAI_BASE_URL too), then from specaudit.toml or
    [tool.specaudit] in pyproject.toml (suite = "quick").

    With --resume the recorded plan decides: what the command line says again must agree with it, settings give way to
    it; but limits may be given anew. Keys are taken from the environment again.
    """
    import shlex
    import signal

    from stamina.instrumentation import set_on_retry_hooks

    from specaudit.audit.resume import resume_audit
    from specaudit.audit.run import run_audit
    from specaudit.cli.progress import listener
    from specaudit.cli.reports import tell_github, write_reports
    from specaudit.cli.show import save, show

    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # whoever stops a job sends SIGTERM first: as good as Ctrl-C
        signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    set_on_retry_hooks([])  # where structlog is installed, retries would be told on stdout, in the report's way
    if resume is not None and options["claim"] and context.get_parameter_source("claim") is ParameterSource.COMMANDLINE:
        raise click.UsageError("--claim is for an audit that is yet to be planned, and --resume names one.", context)
    folder = resume or out or _new_folder(suite or _suite_for(_one_subject(context, options)))
    options |= {"suite": suite, "select": select, "ignore": ignore}
    if dry_run:
        if resume is not None:
            raise click.UsageError(
                "--dry-run is for an audit that is yet to be planned, and --resume names one.", context
            )
        show_estimate(new_audit(context, options, out=folder), json=json)
        return 0
    try:
        with listener(quiet=quiet, verbose=verbose) as listen:
            if resume is not None:
                report = resume_audit(_resume(context, resume, options | {"out": out}, listen))
            else:
                report = run_audit(new_audit(context, options, out=folder, listener=listen))
    except KeyboardInterrupt:
        kept = f"; the evidence is kept.\nTry: specaudit run --resume {shlex.quote(str(folder))}"
        click.echo(f"specaudit: Interrupted{kept if folder.exists() else '.'}", err=True)
        return 130
    show(report, folder, json=json, verbose=verbose)
    tell_github(report)
    save(report, folder)
    write_reports(report, folder, reports)
    return report.exit_code


def new_audit(context: click.Context, options: dict[str, Any], **where: Any) -> "Audit":
    """Return an audit as options ask for it; `where` its evidence goes and who listens is given by name."""
    from specaudit.audit.keys import keys_from_environment
    from specaudit.audit.run import Audit

    asked = _one_subject(context, {name: value for name, value in options.items() if name not in LIMITS})
    asked |= arms_of(context, asked)
    asked["suite"] = asked["suite"] or _suite_for(asked)
    read, claim = _read(asked), asked.pop("claim")
    del read["claim"]
    if claim is not None:
        from specaudit.audit.claims import with_claim
        from specaudit.claims.reading import load_claim

        read["suite"] = with_claim(read["suite"], load_claim(claim), claim)
    return Audit(limits=limits_of(options), **where, **read, **keys_from_environment())


def _suite_for(options: dict[str, Any]) -> str:
    """The suite that is meant where none is named."""
    alone = options["endpoint"] is not None and options["reference"] in (None, "self")
    return "one-endpoint" if alone else "quick"


def _resume(context: click.Context, folder: Path, options: dict[str, Any], listen: "Listener") -> "Resume":
    """A recorded audit, with what the command line says of it again, in the order of its options."""
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
        listener=listen,
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


def _one_subject(context: click.Context, options: dict[str, Any]) -> dict[str, Any]:
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


def _new_folder(suite: str) -> Path:
    """A folder of its own for every run, named by time; the last digits tell runs of one second apart."""
    import secrets
    from datetime import UTC, datetime

    return Path("specaudit-runs", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{Path(suite).stem}-{secrets.token_hex(2)}")
