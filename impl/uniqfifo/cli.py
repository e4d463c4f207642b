"""The command `uniqfifo`: where the implementation and its specification meet."""

import signal
import sys
from typing import NoReturn


def main() -> None:
    """Run the command line. Every error is one line, and its exit code 2."""
    try:
        import click

        from uniqfifo.inspect_cli import inspect_command
        from uniqfifo.move_cli import migrate, rollback
        from uniqfifo_spec.conformance.check_cli import check
        from uniqfifo_spec.conformance.explore_cli import explore, replay
        from uniqfifo_spec.conformance.judge_cli import judge_command
        from uniqfifo_spec.conformance.vectors_cli import vectors
    except ModuleNotFoundError as missing:
        _fail(f"the command line needs {missing.name}: pip install 'uniqfifo[check]'")

    group = click.Group("uniqfifo", help="A unique pending FIFO queue on Redis, and its checks.")
    checks = (check, explore, replay, judge_command, vectors)
    for command in (*checks, inspect_command, migrate, rollback):
        group.add_command(command)
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


def _interrupt(signal_number: int, frame: object) -> NoReturn:
    # Python swallows what is raised while it runs a destructor. So it comes again, later.
    signal.setitimer(signal.ITIMER_REAL, 5)
    raise KeyboardInterrupt


def _fail(text: str) -> NoReturn:
    print("uniqfifo:", " ".join(text.split()), file=sys.stderr)
    sys.exit(2)
