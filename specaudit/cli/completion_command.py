"""`specaudit completion`."""

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def command(*, shell: str) -> None:
    """Print what lets SHELL (bash, zsh or fish) complete commands, options and their values.

    bash: eval "$(specaudit completion bash)" in ~/.bashrc; zsh: the same with zsh in ~/.zshrc; fish: specaudit
    completion fish > ~/.config/fish/completions/specaudit.fish
    """
    from click.shell_completion import get_completion_class

    from specaudit.cli.main import cli

    found = get_completion_class(shell)
    assert found is not None, "click knows these shells"
    click.echo(found(cli, {}, "specaudit", "_SPECAUDIT_COMPLETE").source(), nl=False)
