"""What can go wrong. Every exception of this package is an `Error`, and of Python's nearest kind as well. Beside them
there are Python's own `TypeError` for a missing argument, or for what is no `Flow` or `Served`, and whatever the
caller's own objects raise."""

from __future__ import annotations


class Error(Exception):
    """Something is wrong: `str()` of it is what the program would say.

    Attributes:
        place: where, such as `demo.toml:3:8`; None if that is not known.
        text: what is wrong there, as it was given; None if that is not known.
        hint: what helps, such as the nearest valid name; None if nothing is known to.
        expected: the texts that would be right in place of `text`; empty if they cannot be listed.
    """

    def __init__(
        self,
        message: str = "",
        *,
        place: str | None = None,
        text: str | None = None,
        hint: str | None = None,
        expected: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.place = place
        self.text = text
        self.hint = hint
        self.expected = expected


class InputError(Error, ValueError):
    """A scenario, or an override of one of its keys, is wrong."""


class SchedulerError(Error, ValueError):
    """A scheduler's name, parameter or combination is wrong, or an object is not a discipline."""


class CaptureError(Error, ValueError):
    """A capture cannot be read."""


class ArgumentError(Error, ValueError, TypeError):
    """An argument has the wrong type, or is out of its range."""


class UnknownFlow(Error, LookupError):
    """A flow is not one of this scheduler, or not any more."""


class ModelError(Error, ValueError):
    """A model refuses its input, or could not solve it."""


class RunError(Error, RuntimeError):
    """A simulation failed."""


class DisciplineError(RunError):
    """A discipline written in Python returned what makes no sense."""


class BusyError(Error, RuntimeError):
    """A scheduler was called from within one of its own calls: by a discipline, or by `may_pass`."""


class InternalError(Error, RuntimeError):
    """A bug in this package: please report it."""
