"""What a discipline written in Python looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import At, AwaitProgress


class Discipline:
    """Decides whose first packet is next. Queues, limits and books are kept outside.

    Inherit from this, or write a class with the same methods; `added`, `arrived`, `choose` and `served` are needed.
    Times are whole nanoseconds, `flow` is a flow's number from 0 (that of a removed flow is given again), `cost` is a
    tuple of the packet's times on the resources. What a method raises ends the run and comes out of it; of a Scheduler
    it ends the call, and loses no packet.
    """

    #: What results call it; the class's name if it has none of its own.
    name: str

    def added(self, flow: int, weight: float) -> None:
        """A flow has been set up."""
        raise NotImplementedError(f"{type(self).__name__}.added")

    def arrived(self, now: int, flow: int, size: int, cost: tuple[int, ...]) -> None:
        """A packet has joined the end of the flow's queue."""
        raise NotImplementedError(f"{type(self).__name__}.arrived")

    def choose(self, now: int) -> int | At | AwaitProgress:
        """The flow whose first packet is served next. Asked while packets wait, and perhaps several times: asking
        again must give the same answer."""
        raise NotImplementedError(f"{type(self).__name__}.choose")

    def served(self, now: int, flow: int, cost: tuple[int, ...]) -> None:
        """The first packet of the chosen flow has left its queue."""
        raise NotImplementedError(f"{type(self).__name__}.served")

    def progressed(self, now: int, flow: int, resource: int, event: str, used: int | None) -> None:
        """A packet was "started", "finished" after `used`, or "abandoned" on a resource."""

    def corrected(self, flow: int, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """A packet that was served takes `after` instead of `before`."""

    def reweighed(self, flow: int, weight: float) -> None:
        """The flow's weight has changed."""

    def removed(self, flow: int) -> None:
        """The flow and its packets are about to go."""
