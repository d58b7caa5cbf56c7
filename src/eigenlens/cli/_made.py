"""Commands made from signatures: the options of a method or of a picture are its parameters.

They are made when they are asked for, so that the others do not wait for the packages it takes.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from . import _methods

__all__ = ["Family", "Later", "Method", "family", "made"]

Parameters = dict[str, inspect.Parameter]


class Family(TyperGroup):
    """A group of commands that are made when they are asked for."""

    @classmethod
    @abstractmethod
    def members(cls) -> dict[str, str]:
        """Return what each command does, by their names."""

    @classmethod
    @abstractmethod
    def find(cls, word: str) -> str | None:
        """Return the command that a word means."""

    @classmethod
    @abstractmethod
    def unknown(cls, word: str) -> str:
        """Say that a word means no command, and what to try."""

    @classmethod
    @abstractmethod
    def make(cls, name: str) -> Any:
        """Return a command."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.members())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command that a word means."""
        name = self.find(cmd_name)
        return None if name is None else self.make(name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands for the help page, none of which is made for that."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.members().items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, and the other arguments."""
        if args and not args[0].startswith("-") and self.find(args[0]) is None:
            ctx.fail(self.unknown(args[0]))
        return super().resolve_command(ctx, args)


def family(cls: type[Family], *, help: str, metavar: str) -> typer.Typer:  # noqa: A002
    """Return a family as part of the command line."""
    app = typer.Typer(
        cls=cls,
        no_args_is_help=True,
        help=help,
        subcommand_metavar=metavar,
        rich_markup_mode=None,
        add_completion=False,
    )

    @app.callback()
    def _() -> None:
        pass

    return app


class Later(TyperCommand):
    """A command whose options are found when it is called; `make` returns the real one."""

    make: ClassVar[Callable[[], Any]]

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return the context of the real command."""
        return type(self).make().make_context(info_name, args, parent, **extra)


class Method(TyperCommand):
    """The command of one method, which knows whose an option is that it does not have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            option = getattr(error, "option_name", None)
            others = _methods.owners(option) if option else []
            if not others:
                raise
            ctx.fail(f"{self.name} has no option {option}. It is one of {', '.join(others)}.")
            raise


def made(
    name: str,
    run: Callable[..., None],
    *,
    help: str,  # noqa: A002
    shared: Callable[..., None] | Parameters,
    own: Parameters,
    cls: type[TyperCommand] = TyperCommand,
) -> Any:
    """Return a command.

    Parameters
    ----------
    name : str
    run : callable
        Called with a dict of the options of `own` that were given, and with those of `shared`.
    help : str
    shared : callable or dict of str to inspect.Parameter
        A function whose parameters are arguments and options of this command and of others.
    own : dict of str to inspect.Parameter
        Options that this command has alone, as `_methods.options` finds them.
    cls : type
        Of the command.
    """

    def command(**given: Any) -> None:
        asked = {key: given.pop(key) for key in own}
        values = {
            key: _methods.value_of(value) if isinstance(value, str) else value
            for key, value in asked.items()
            if value is not None
        }
        run(values, **given)

    if not isinstance(shared, dict):
        shared = dict(inspect.signature(shared, eval_str=True).parameters)
    every = {**shared, **own}
    command.__signature__ = inspect.Signature(list(every.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {key: item.annotation for key, item in every.items()}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name=name, cls=cls, help=help, short_help=help)(command)
    return typer.main.get_command(app)
