"""The errors a user can meet: what happened, why, and the next command to try.

SpecauditError
  UsageError        exit code 2: the command line, a suite or a setting is wrong
  CouldNotTest      exit code 3: nothing could be tested (unreachable, nothing selected, arms that do not match)

A bad engine is not an error: it is a finding.
"""


class SpecauditError(Exception):
    """A sentence for the user, a hint with the next command, and the exit code of the process."""

    exit_code = 70

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SpecauditError):
    """The command line, a suite or a setting is wrong."""

    exit_code = 2


class CouldNotTest(SpecauditError):
    """Nothing could be tested, and the reason lies outside this tool's settings."""

    exit_code = 3
