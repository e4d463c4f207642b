"""The command `uniqfifo`: where the implementation and its specification meet."""

import signal
import sys
from importlib import import_module
from typing import NoReturn

_CHECKS = "uniqfifo_spec.conformance"
_COMMANDS = {
    "check": (f"{_CHECKS}.check_cli", "check"),
    "explore": (f"{_CHECKS}.explore_cli", "explore"),
    "inspect": ("uniqfifo.inspect_cli", "inspect_command"),
    "judge": (f"{_CHECKS}.judge_cli", "judge_command"),
    "migrate": ("uniqfifo.move_cli", "migrate"),
    "replay": (f"{_CHECKS}.explore_cli", "replay"),
    "rollback": ("uniqfifo.move_cli", "rollback"),
    "vectors": (f"{_CHECKS}.vectors_cli", "vectors"),
}


def main() -> None:
    """Run the command line. Every error is one line, and its exit code 2."""
    try:
        import click
    except ModuleNotFoundError:
        _fail(_needs("click"))

    class Commands(click.Group):
        """Each is loaded when it is asked for: a check takes much that an operator does without."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return [*_COMMANDS]

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in _COMMANDS:
                return None
            module, name = _COMMANDS[cmd_name]
            command: click.Command = getattr(import_module(module), name)
            return command

    group = Commands("uniqfifo", help="A unique pending FIFO queue on Redis, and its checks.")
    click.version_option(package_name="uniqfifo")(group)
    # However it is ended, what was started is ended, too, and keys are removed.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(ending, _interrupt)
    try:
        sys.exit(group(prog_name="uniqfifo", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.ClickException as error:
        # Click itself would exit with 1, which here says that something does not conform.
        _fail(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted")
    except (OSError, UnicodeEncodeError) as error:
        _fail(f"what it has to say cannot be written: {error}")
    except ModuleNotFoundError as missing:
        _fail(_needs(str(missing.name).partition(".")[0]))


def _interrupt(signal_number: int, frame: object) -> NoReturn:
    # Python swallows what is raised while it runs a destructor. So it comes again, later.
    signal.setitimer(signal.ITIMER_REAL, 5)
    raise KeyboardInterrupt


def _needs(module: str) -> str:
    return f"the command line needs {module}: pip install 'uniqfifo[check]'"


def _fail(text: str) -> NoReturn:
    print("uniqfifo:", " ".join(text.split()), file=sys.stderr)
    sys.exit(2)
