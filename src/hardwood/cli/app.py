"""The typer application, and what every command shares: errors and exit codes.

Exit codes: 0 success, 1 bad data or a failure while running, 2 a command line that cannot be understood,
130 interrupted before there was a result.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from hardwood._version import __version__
from hardwood.cli.reading import TYPED
from hardwood.errors import HardwoodError

TRACEBACK_VARIABLE = "HARDWOOD_TRACEBACK"


PANELS = {
    "Before anything is learned": ("inspect", "bound", "epsilons"),
    "Learn": ("fit", "fit-ensemble", "compare", "tradeoff", "explore"),
    "Look at what was learned": ("evaluate", "explain", "report", "plot", "certify"),
    "Use it": ("predict", "export"),
    "More": ("demo", "reproduce", "solvers"),
}
"""The commands as ``--help`` shows them: in the order in which one needs them."""


NO_ATTACK = (
    "What can the attacker do? --attack 5% moves every feature by 5 % of its range, --attack 'age=5,income=0:100' some "
    "of them in their units, --attack 0 nobody; 'hardwood inspect' suggests more."
)


class Application(typer.core.TyperGroup):
    """The command line, which remembers what was typed."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; where it is not said what the attacker can do, say how to say it."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if getattr(getattr(error, "param", None), "name", None) == "attack" and not getattr(error, "message", "x"):
                error.message = NO_ATTACK  # type: ignore[attr-defined]
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of `PANELS`, others last."""
        shown = [name for names in PANELS.values() for name in names if name in self.commands]
        return [*shown, *(name for name in super().list_commands(ctx) if name not in shown)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, with the panel that it is shown in."""
        command = super().get_command(ctx, cmd_name)
        panel = next((panel for panel, names in PANELS.items() if cmd_name in names), None)
        if command is not None and panel is not None:
            command.rich_help_panel = panel  # type: ignore[attr-defined]
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        TYPED.set(tuple(args))
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="hardwood",
    cls=Application,
    help="Decision trees an attacker cannot fool, with a proof of how good they are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(shown: bool) -> None:
    if shown:
        typer.echo(f"hardwood {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def register_commands() -> None:
    """Import every module of commands (``*_command.py``, ``*_commands.py``), which registers what it holds."""
    folder = str(Path(__file__).parent)
    for module in pkgutil.iter_modules([folder]):
        if module.name.endswith(("_command", "_commands")):
            import_module(f"hardwood.cli.{module.name}")


def main() -> None:
    """Entry point of the ``hardwood`` command."""
    register_commands()
    try:
        app()
    except HardwoodError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        sys.stderr.close()
        sys.exit(0)
    except MemoryError:
        typer.echo("Error: not enough memory", err=True)
        sys.exit(1)
    except Exception as error:
        if TRACEBACK_VARIABLE in os.environ:
            raise
        typer.echo(
            f"Error: a fault of hardwood, please report it: {type(error).__name__}: {error} "
            f"(with {TRACEBACK_VARIABLE}=1 in the environment it says where)",
            err=True,
        )
        sys.exit(1)
