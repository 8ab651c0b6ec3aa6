"""The command line as tests use it: in this process, without the few seconds that a new one takes to start."""

from __future__ import annotations

from typer.testing import CliRunner

from hardwood import HardwoodError
from hardwood.cli.app import app, register_commands

register_commands()


def run(*arguments: object, code: int = 0) -> str:
    """Run a command and return what it prints on standard output, or its error message.

    Anything but the expected exit code fails the test, and so does an error that no user could act on.
    """
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, HardwoodError):
        # main() turns these into exit code 1 and a message.
        assert code == 1, result.exception
        return str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    # What is wrong with a command line is said on standard error.
    return result.stdout if code == 0 else result.output
