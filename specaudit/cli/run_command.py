"""`specaudit run`."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from specaudit.cli.arms import plain_arm
from specaudit.cli.audits import new_audit, one_subject, recorded_audit, suite_for
from specaudit.cli.estimate import show_estimate
from specaudit.cli.limit_options import limit_options
from specaudit.cli.reports import report_file
from specaudit.cli.server_options import ca_file_option, header_option, model_option, timeout_option, tokenizer_option


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
@model_option
@click.option(
    "--api", type=click.Choice(["completions", "chat"]), help="Interface of the servers.  [default: completions]"
)
@click.option("--stream", is_flag=True, default=None, help="Ask the servers for streams.")
@header_option
@ca_file_option
@tokenizer_option
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
@timeout_option
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
    folder = resume or out or _new_folder(suite or suite_for(one_subject(context, options)))
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
                report = resume_audit(recorded_audit(context, resume, options | {"out": out}, listen))
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


def _new_folder(suite: str) -> Path:
    """A folder of its own for every run, named by time; the last digits tell runs of one second apart."""
    import secrets
    from datetime import UTC, datetime

    return Path("specaudit-runs", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{Path(suite).stem}-{secrets.token_hex(2)}")
