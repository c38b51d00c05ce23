"""The extension module. Use what `dovetail` has of it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self, SupportsIndex, final

from . import model as model
from ._discipline import Discipline

__all__ = [
    "At",
    "AwaitProgress",
    "Dropped",
    "Empty",
    "Flow",
    "Plan",
    "Runs",
    "Scheduler",
    "Served",
    "Sweep",
    "Table",
    "__version__",
    "advise",
    "end",
    "model",
    "packets",
    "reproduce",
    "run",
    "schedulers",
]

__version__: str

@final
class Table:
    """A table that polars, pandas, pyarrow and others read without a copy, through the Arrow PyCapsule interface:
    `polars.DataFrame(table)`, `pyarrow.table(table)`."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """The values of a column as a list; None where there is none."""
    def to_dict(self) -> dict[str, list[Any]]:
        """All columns as lists, by name."""
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of Arrow record batches."""

@final
class Flow:
    """A flow of one scheduler."""

    @property
    def index(self) -> int:
        """Its number from 0, in the order of set-up; that of a removed flow is given again."""
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Served:
    """A packet to put into the first resource now."""

    @property
    def flow(self) -> Flow:
        """Its flow."""
    @property
    def size(self) -> int:
        """Its length in bytes."""
    @property
    def payload(self) -> Any:
        """What the caller gave to `enqueue` with it."""
    @property
    def charged(self) -> tuple[int, ...]:
        """What the flow is charged for it, in nanoseconds on every resource: estimates, replaced by measurements."""

@final
class Dropped:
    """The first packet of a flow is dropped, because it waited for too long or too many wait: ask again. It counts as
    false. Only schedulers that manage their queues give it, such as "fq_codel"."""

    @property
    def flow(self) -> Flow:
        """Its flow."""
    @property
    def size(self) -> int:
        """Its length in bytes."""
    @property
    def payload(self) -> Any:
        """What the caller gave to `enqueue` with it."""
    def __bool__(self) -> Literal[False]: ...

@final
class At:
    """Packets wait, but none may start before `time`. It counts as false: no packet is served."""

    __match_args__ = ("time",)
    def __new__(cls, time: SupportsIndex) -> Self: ...
    @property
    def time(self) -> int:
        """In nanoseconds."""
    def __bool__(self) -> Literal[False]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class AwaitProgress:
    """Packets wait, but none may start before some packet in the pipeline makes progress. It counts as false."""

    def __bool__(self) -> Literal[False]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Empty:
    """No packet waits. It counts as false."""

    def __bool__(self) -> Literal[False]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Scheduler:
    """A packet scheduler over `resources` in series, the same that the simulator and the live box have. Times are
    whole nanoseconds; `now` must not run backwards. Processing times above 2**40 (18 minutes) count as that.

    What a discipline written in Python raises comes out of the call during which it was asked. That call has done its
    work all the same (a packet waits, a report counts), except `add_flow`, which then sets up no flow. Packets that it
    has taken out of their queues are kept: the next calls of `next`, `next_many` or `bypass` give them first. If
    `remove_flow` raised, call it again with the same flow to get the payloads.

    Threads can share a scheduler: each call waits for those of other threads. A call from within another call of the
    same scheduler raises BusyError, and so does one of the calls of threads whose disciplines call each other's
    schedulers, which would wait without end. A method that waits for a thread which calls the method's own scheduler
    does wait without end.
    """

    def __new__(
        cls,
        scheduler: str | Discipline | type,
        *,
        resources: SupportsIndex | None = None,
        servers: SupportsIndex | None = None,
    ) -> Self:
        """A scheduler by its name, such as "tradeoff:alpha=0.85", or by a discipline.

        There are 1 to 4 `resources`, two if left out. `servers` counts those of all resources together; each resource
        has one if left out.
        """
    @property
    def resources(self) -> int:
        """How many resources there are."""
    def add_flow(
        self,
        *,
        weight: float | None = None,
        weights: Sequence[float] | None = None,
        alpha: float | None = None,
        class_number: SupportsIndex | None = None,
        packets: SupportsIndex | None = None,
        bytes: SupportsIndex | None = None,
        time: tuple[int, int, int] | None = None,
    ) -> Flow:
        """Set up a flow.

        Its `weight` is 1 if left out, kept to a thousandth; `weights` are those on the resources one by one, where
        they differ. `alpha` is the part of its fair share that tradeoff guarantees it, 0 or 0.001 to 1, if not that of
        all. `class_number` is the class that tradeoff's `protect` names, as in "tradeoff:protect=0 5 ms". At most
        `packets` and `bytes` wait in its queue; `time` is (resource, upper, lower): processing time above `upper`
        closes the queue until it is below `lower`.
        """
    def set_flow(
        self,
        now: SupportsIndex,
        flow: Flow,
        *,
        weight: float | None = None,
        weights: Sequence[float] | None = None,
        alpha: float | None = None,
        class_number: SupportsIndex | None = None,
        packets: SupportsIndex | None = None,
        bytes: SupportsIndex | None = None,
        time: tuple[int, int, int] | None = None,
    ) -> None:
        """Set a flow up anew, from now on: what is left out is as `add_flow` has it. Packets beyond a lowered limit
        stay."""
    def remove_flow(self, now: SupportsIndex, flow: Flow) -> list[Any]:
        """Tear a flow down; returns the payloads of its waiting packets in order."""
    def enqueue(
        self,
        now: SupportsIndex,
        flow: Flow,
        size: SupportsIndex,
        cost: Iterable[SupportsIndex],
        payload: Any = None,
    ) -> Literal["queue-packets", "queue-bytes", "queue-time"] | None:
        """Admit a packet of `size` bytes and these processing times to its flow's queue: None, or why it is refused."""
    def next(self, now: SupportsIndex) -> Served | Dropped | At | AwaitProgress | Empty:
        """What to put into the first resource now."""
    def next_many(self, now: SupportsIndex, most: SupportsIndex) -> list[Served | Dropped]:
        """What `next` gives, called until it neither hands out nor drops a packet, at most `most` times."""
    def bypass(self, now: SupportsIndex, may_pass: Callable[[Any], object]) -> Served | At | AwaitProgress | Empty:
        """What may go past the first resource while that is busy; `may_pass` says of a payload whether there is room
        for its packet further on."""
    def progress(
        self,
        now: SupportsIndex,
        served: Served,
        resource: SupportsIndex,
        event: Literal["started", "finished", "abandoned"],
        used: SupportsIndex | None = None,
    ) -> None:
        """Tell what became of a packet on a resource: it "started", "finished" after `used` nanoseconds, or was
        "abandoned" before it. Charges are corrected by what was measured."""
    def left(self, now: SupportsIndex, flow: Flow, stayed: SupportsIndex) -> None:
        """A packet of this flow has left the last resource, `stayed` nanoseconds after it came. Only tradeoff with
        `protect` looks at it."""
    def steering(self) -> dict[str, Any] | None:
        """What an alpha that adjusts itself has come to, with `alpha` and `out_of_reach`; None if none does. With a
        `target` also `resource` (its number) and `used`, over the last 50 ms in which packets waited; with `protect`
        `class_number`, `late` (the part of its packets that are) and `p99` in nanoseconds."""
    def set(self, now: SupportsIndex, parameter: str, value: object) -> None:
        """Change a parameter while running, such as "alpha"."""
    def stats(self) -> dict[str, Any]:
        """The counts: offered = admitted + refused, admitted = served + dropped + queued; `refused` is by reason."""
    def queued(self, flow: Flow) -> int:
        """Packets of this flow that wait; 0 for an unknown one."""

@final
class Plan:
    def __new__(cls, plan: object, text: str | None = None, folder: object = None) -> Self: ...
    @property
    def source(self) -> tuple[str, str, Path]: ...
    def run(self, task: SupportsIndex) -> bytes: ...

@final
class Sweep:
    def __new__(cls, plan: Plan, out: object, jobs: SupportsIndex | None) -> Self: ...
    @property
    def rows(self) -> int: ...
    def tasks(self) -> list[int]: ...
    def run(self, jobs: SupportsIndex | None, progress: Callable[[int, int], object] | None) -> None: ...
    def begin(self) -> None: ...
    def add(self, run: bytes) -> None: ...
    def end(self) -> None: ...
    def close(self) -> None: ...
    def tables(self) -> tuple[Table, Table]: ...

@final
class Runs:
    @property
    def json(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    def table(self, name: str) -> Table | None: ...

def run(
    scenario: object,
    overrides: dict[str, Any],
    schedulers: object,
    profile: str | None,
    threads: SupportsIndex | None,
    packets: SupportsIndex,
    progress: Callable[[int, int], object] | None,
) -> Runs: ...
def advise(
    scenario: object,
    overrides: dict[str, Any],
    today: str,
    target: list[str],
    protect: tuple[str, str] | None,
    profile: str | None,
    threads: SupportsIndex | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[str, str]: ...
def reproduce(
    ids: list[str],
    capture: object,
    load: float | None,
    threads: SupportsIndex | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[str, list[tuple[str, str]]]: ...
def end() -> None: ...
def schedulers(name: str | None) -> str: ...
def packets(capture: object) -> tuple[Table, str | None]: ...
