"""`specaudit`: the group of commands, and how errors leave the process."""

import os
import sys
from importlib import import_module

import click

COMMANDS = {
    "run": "run an audit: plan, collect, judge, report",
    "doctor": "say what an endpoint reveals, which checks that supports, and what would allow more",
    "plan": "say what an audit asks, what it costs and what it sees; sends nothing",
    "analyze": "judge recorded evidence again, offline",
    "report": "write a report of recorded evidence: a page, JUnit, SARIF and more",
    "compare": "two audits side by side",
    "merge": "join what the shards of one plan have collected",
    "verify": "check the chain of hashes of recorded evidence",
    "calibrate": "measure the tool itself: planted faults, false alarms",
    "serve": "serve the reference decoder or a mutant over HTTP",
    "trace": "decode one request and show each step",
    "counters": "acceptance from saved or live metrics pages, with void windows and why",
    "claim": "hold a vendor's claim against physics and evidence; price speculation",
    "list": "list checks, engines, mutants, controls, suites, claims or dialects",
    "schema": "print the JSON Schema of suites, plans, evidence, reports, claims or tables",
    "explain": "say what a check demands and how it decides",
    "completion": "print shell completion",
}
"""Every command by its file in this package, with the line that `--help` shows."""

USAGE, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141
"""Exit codes of a process that ends without a report; 141 is what shells show for a reader that went away."""


def load(name: str) -> click.Command:
    """Import a command's file when the command is needed, and no sooner."""
    command: click.Command = import_module(f"specaudit.cli.{name}_command").command
    return command


class LazyGroup(click.Group):
    """A group whose commands are imported one by one."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands in the order in which they are needed."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command by its name."""
        return load(name) if name in COMMANDS else None

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one is nearest."""
        from specaudit.model.nearest import nearest

        if args[0] not in COMMANDS and not args[0].startswith("-"):
            context.fail(f"There is no command {args[0]!r}.{nearest(args[0], COMMANDS)}")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> object:
        """Run the command. Where a reader goes away, click would end with 1, which means a violation here."""
        try:
            return super().invoke(context)
        except BrokenPipeError as error:
            raise click.exceptions.Exit(BROKEN_PIPE) from error

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SPECAUDIT"},
    epilog=(
        "Exit codes: 0 every required check conforms; 1 at least one violates; 2 usage; 3 could not test; "
        "4 inconclusive; 70 internal error; 130 interrupted."
    ),
)
@click.version_option(package_name="specdec-audit", prog_name="specaudit")
@click.pass_context
def cli(context: click.Context) -> None:
    """Audit a deployed speculative decoder: is what it emits what the plain target would have emitted?

    Without options, `specaudit run` audits the embedded reference decoder.
    """
    from specaudit.cli.settings import from_files

    context.default_map = from_files(COMMANDS, load)


def main() -> None:
    """Run the command line and end the process with the right exit code."""
    code = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # Python would try once more while it ends, and end with a code of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> int:
    from specaudit.model.errors import SpecauditError

    try:
        code = cli.main(prog_name="specaudit", standalone_mode=False)
    except SpecauditError as error:
        _say(error.message, error.hint)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        _say(" ".join(error.format_message().split()), _help_of(error))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        _say(f"The operating system refuses: {error}.", "")
        return INTERNAL
    except Exception as error:
        import traceback

        traceback.print_exc()
        _say(f"An error of specaudit itself: {error!r}.", "Please report it; what was recorded is kept")
        return INTERNAL
    return code if isinstance(code, int) else 0


def _say(message: str, hint: str) -> None:
    """One plain sentence, and the next command to try."""
    from specaudit.render.printable import printable

    click.echo(f"specaudit: {printable(message)}", err=True)
    if hint:
        click.echo(f"Try: {printable(hint)}", err=True)


def _help_of(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'specaudit'} --help"
