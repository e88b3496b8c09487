"""Wrong usage in one line: what is wrong, and which command tells how it is right."""

from __future__ import annotations

import re

import click

from stackmap.cli.output import FORM

# What a missing argument or option is asked for with.
QUESTIONS = {
    "NAME": "which volume?",
    "--to LAYOUT": "which layout, such as raid10?",
    "--output FILE": "which file, such as page.html?",
    "OUT": "which new directory?",
    "BEFORE": "which recording?",
    "AFTER": "which recording?",
}
EXTRA = r"Got unexpected extra arguments? \((.*)\)"
NO_NUMBER = r"'(.*)' is not a valid (?:float|integer|int)\b"


def missing(word: str) -> str:
    """
    Return the message that the argument or option *word* is missing.

    >>> missing("NAME")
    'missing NAME: which volume?'
    """
    question = QUESTIONS.get(word)
    return f"missing {word}: {question}" if question else f"missing {word}"


def one_line(error: click.UsageError) -> str:
    """Return the message of *error* and the command that prints the right usage."""
    message = _message(error).removesuffix(".")
    if error.ctx is None or "`" in message:  # it names a command already
        return message
    stop = " See" if message.endswith("?") else "; see"
    return f"{message}{stop} `{error.ctx.command_path} --help`"


def _no_option(error: click.NoSuchOption) -> str:
    """Return the message that there is no such option here, and what may be meant."""
    name, ctx = error.option_name, error.ctx
    if ctx is not None and ctx.parent is not None:
        of_all = {word for option in ctx.parent.command.params for word in option.opts}
        if name in of_all:
            command = ctx.parent.command_path
            return f"{name} must stand before '{ctx.info_name}'; see `{command} --help`"
    from difflib import get_close_matches

    similar = get_close_matches(name, error.possibilities or (), 1)
    advice = f"; did you mean {similar[0]}?" if similar else ""
    return f"no option {name}{advice}"


def _message(error: click.UsageError) -> str:
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return missing(_name_of(error.param))
    if isinstance(error, click.NoSuchOption):
        return _no_option(error)
    if isinstance(error, click.BadParameter) and error.param is not None:
        if wrong := re.match(NO_NUMBER, error.message):
            return f"{_option_or_word(error.param)} must be a number, not {wrong[1]}"
        return f"{error.param_hint or _option_or_word(error.param)}: {error.message}"
    if extra := re.match(EXTRA, error.message):
        return f"unexpected argument {extra[1]}"
    return (
        error.message[:1].lower() + error.message[1:] if _is_word(error.message) else error.message
    )


def _name_of(parameter: click.Parameter) -> str:
    name = _option_or_word(parameter)
    return f"{name} {parameter.metavar or ''}" if isinstance(parameter, click.Option) else name


def _option_or_word(parameter: click.Parameter) -> str:
    """Return ``--to`` or ``NAME``."""
    if isinstance(parameter, click.Option):
        return parameter.opts[-1]
    return parameter.human_readable_name.upper().strip("[]")


def _is_word(message: str) -> bool:
    """Whether *message* begins with an ordinary word: INTERVAL and --to are names."""
    return message[1:2].islower()


def one_form(ctx: click.Context, option: click.Parameter, wanted: bool) -> bool:
    """Return *wanted*, for an option that chooses the form of the output; a second form is wrong usage."""
    first = ctx.meta.setdefault(FORM, option.opts[-1]) if wanted else ""
    if wanted and first != option.opts[-1]:
        raise click.UsageError(f"choose one form of output: {first} or {option.opts[-1]}")
    return wanted
