"""Whatever is given: what goes wrong is a `dovetail.Error`, or a `TypeError` where a type is wrong."""

import itertools
import math
import tempfile
import unittest

import dovetail
from dovetail import model

from disciplines import Drr
from support import SMALL

VALUES = [
    *(None, True, -1, 0, 1, 2**64, 10**400, 1.5, math.nan, math.inf, "", "abc", "\ud800", "a\0b", b"x"),
    *([], [1], [[1]], [["x"]], [None], (), {}, {"a": 1}, object(), int, iter([1]), [math.nan], [-1.0], [[]]),
    *([[math.nan]], [[-1]], [(0, [1.0, 2.0])], [10**400], [[10**400]], ("cpu", 1), [("cpu", 10**400)]),
]
#: Functions of the model with arguments that are right.
MODEL = {
    "drgps": ([[1.0, 2.0]], [1.0]),
    "tradeoff": ([[1.0, 2.0]], 0.5, [1.0], "rotate"),
    "fluid_schedule": ([[(0.0, [1.0, 2.0])]], 0.5, [1.0], "split"),
    "proportional": ([("cpu", 1e9), ("link", 1e6)], [(1.0, [(0, 10.0), (1, None)])]),
    "jain": ([1.0],),
    "gini": ([1.0],),
    "makespan_lower_bound_s": ([1.0],),
    "work_conserving_makespan_s": (2, 1.0),
    "tracking_makespan_s": (1.0, 2, 1.0),
    "drfq_relative_fairness_s": ((1.0, 1.0), (1.0, 1.0)),
    "mr3_relative_fairness_s": (2, 1.0),
}


class Arguments(unittest.TestCase):
    def try_all(self, call, *, allowed=(TypeError,)):
        for value in VALUES:
            with self.subTest(value=value):
                try:
                    call(value)
                except dovetail.InternalError:
                    raise
                except (dovetail.Error, *allowed):
                    pass

    def test_of_the_model(self):
        for name, right in MODEL.items():
            function = getattr(model, name)
            function(*right)
            for place in range(len(right)):
                with self.subTest(function=name, place=place):
                    self.try_all(lambda value: function(*right[:place], value, *right[place + 1 :]), allowed=())

    def test_of_the_model_in_their_members(self):
        for capacity, weight, resource, density in itertools.product(VALUES[:10], repeat=4):
            with self.subTest(given=(capacity, weight, resource, density)):
                try:
                    model.proportional([("cpu", capacity)], [(weight, [(resource, density)])])
                except dovetail.Error:
                    pass

    def test_what_is_said(self):
        plan = {"scenario": SMALL, "grid": {"scheduler": ["fifo"]}}
        cases = {
            lambda: model.jain("abc"): "^shares: 'abc': expected a list of numbers$",
            lambda: model.tradeoff([[1]], 10**400): r"^alpha: 1000+\.\.\.: expected a number$",
            lambda: model.work_conserving_makespan_s(-1, 1): "^resources: -1: expected a whole number of resources",
            lambda: model.drfq_relative_fairness_s((1,), (1, 1)): r"^weights: \(1,\): expected two numbers above 0$",
            lambda: dovetail.schedulers("\ud800"): r"^name: '\\ud800': expected a text$",
            lambda: dovetail.packets(5): "^capture: 5: expected a path$",
            lambda: dovetail.packets(""): "^capture: '': expected a path$",
            lambda: dovetail.run(""): "^scenario: '': expected a path, a text of TOML with several lines, or a dict$",
            lambda: dovetail.advise(""): "^scenario: '': expected a path, ",
            lambda: dovetail.sweep("", "out"): "^plan: '': expected a path, ",
            lambda: dovetail.sweep(plan, ""): "^out: '': expected a path$",
            lambda: dovetail.reproduce("fig4", capture=""): "^capture: '': expected a path$",
            lambda: dovetail.reproduce("fig4", load="1"): "^load: '1': expected a number above 0$",
            lambda: dovetail.advise(SMALL, today=7): "^today: 7: expected a text$",
        }
        for call, says in cases.items():
            with self.assertRaisesRegex(dovetail.ArgumentError, says):
                call()
        # As everywhere in Python.
        for kind in (TypeError, ValueError):
            with self.assertRaises(kind):
                model.jain(["x"])

    def test_what_a_value_raises_itself_comes_out_unless_it_refuses_to_be_converted(self):
        class Value:
            def __init__(self, error):
                self.error = error

            def convert(self):
                raise self.error

            __float__ = __index__ = __iter__ = convert

        def times(error):
            yield 1
            raise error

        scheduler = dovetail.Scheduler("drfq")
        flow = scheduler.add_flow()
        calls = {
            "a number": lambda error: model.tradeoff([[1, 2]], Value(error)),
            "a whole number": lambda error: scheduler.next(Value(error)),
            "a weight": lambda error: scheduler.add_flow(weight=Value(error)),
            "weights": lambda error: scheduler.add_flow(weights=[1, Value(error)]),
            "a part": lambda error: scheduler.add_flow(alpha=Value(error)),
            "an iterable": lambda error: scheduler.enqueue(0, flow, 100, Value(error)),
            "an iterator": lambda error: scheduler.enqueue(0, flow, 100, times(error)),
            "a processing time": lambda error: scheduler.enqueue(0, flow, 100, (1, Value(error))),
        }
        for (name, call), error in itertools.product(calls.items(), (KeyboardInterrupt, MemoryError, RecursionError)):
            with self.subTest(value=name, error=error), self.assertRaises(error):
                call(error)
        for (name, call), error in itertools.product(calls.items(), (TypeError, ValueError, OverflowError)):
            with self.subTest(value=name, error=error), self.assertRaises(dovetail.ArgumentError):
                call(error)

    def test_what_a_value_raises_as_it_is_read_or_shown_comes_out(self):
        class Shown:
            def __init__(self, error):
                self.error = error

            def __repr__(self):
                raise self.error

        class Given(Shown):
            def convert(self):
                raise self.error

            __index__ = __float__ = __fspath__ = convert

        class Named(Drr):
            def __init__(self, error):
                super().__init__()
                self.error = error

            @property
            def name(self):
                raise self.error

        class Choosing(Drr):
            def __init__(self, answer):
                super().__init__()
                self.answer = answer

            def choose(self, now):
                return self.answer

        class Path:
            def __init__(self, error):
                self.error = error

            def __fspath__(self):
                raise self.error

        def chosen(answer):
            scheduler = dovetail.Scheduler(Choosing(answer))
            scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2))
            scheduler.next(0)

        scheduler = dovetail.Scheduler("drfq")
        calls = {
            "a wrong argument": lambda error: scheduler.next(Shown(error)),
            "a payload": lambda error: repr(self.served(Shown(error))),
            "a key": lambda error: dovetail.run(SMALL, seed=Shown(error)),
            "a whole number of a dict": lambda error: dovetail.run({"seed": Given(error)}),
            "a path of a dict": lambda error: dovetail.run({"trace": {"file": Path(error)}}),
            "a path": lambda error: dovetail.run(Path(error)),
            "a discipline": lambda error: dovetail.Scheduler(Shown(error)),
            "a discipline's name": lambda error: dovetail.Scheduler(Named(error)),
            "a choice": lambda error: chosen(Given(error)),
            "a choice that is none": lambda error: chosen(Shown(error)),
            "a column": lambda error: dovetail.run(SMALL, schedulers="fifo").flows[Shown(error)],
        }
        errors = (KeyboardInterrupt, MemoryError, ZeroDivisionError)
        for (name, call), error in itertools.product(calls.items(), errors):
            with self.subTest(value=name, error=error), self.assertRaises(error):
                call(error)

    def served(self, payload):
        scheduler = dovetail.Scheduler("drfq")
        scheduler.enqueue(0, scheduler.add_flow(), 100, (1, 2), payload)
        return scheduler.next(0)

    def test_of_a_scheduler(self):
        scheduler = dovetail.Scheduler("tradeoff")
        flow = scheduler.add_flow()
        scheduler.enqueue(0, flow, 100, (1, 2))
        packet = scheduler.next(0)
        self.try_all(dovetail.Scheduler)
        self.try_all(lambda value: dovetail.Scheduler("drfq", resources=value))
        self.try_all(lambda value: dovetail.Scheduler("drfq", servers=value))
        for name in ("weight", "weights", "alpha", "class_number", "packets", "bytes", "time"):
            self.try_all(lambda value: scheduler.add_flow(**{name: value}))
            self.try_all(lambda value: scheduler.set_flow(0, flow, **{name: value}))
        for call in (
            lambda value: scheduler.add_flow(time=(value, value, value)),
            lambda value: scheduler.enqueue(value, flow, 1, (1, 2)),
            lambda value: scheduler.enqueue(0, value, 1, (1, 2)),
            lambda value: scheduler.enqueue(0, flow, value, (1, 2)),
            lambda value: scheduler.enqueue(0, flow, 1, value),
            lambda value: scheduler.bypass(0, value),
            lambda value: scheduler.progress(0, value, 0, "started"),
            lambda value: scheduler.progress(0, packet, value, "started"),
            lambda value: scheduler.progress(0, packet, 0, value),
            lambda value: scheduler.progress(0, packet, 0, "finished", value),
            lambda value: scheduler.left(0, flow, value),
            lambda value: scheduler.set(0, value, 1),
            lambda value: scheduler.set(0, "alpha", value),
            scheduler.queued,
            scheduler.next,
            lambda value: scheduler.next_many(0, value),
            lambda value: scheduler.remove_flow(0, value),
            dovetail.At,
        ):
            self.try_all(call)

    def test_of_the_functions(self):
        self.try_all(dovetail.run)
        for name in ("schedulers", "profile", "threads", "packets", "seed", "title", "until"):
            self.try_all(lambda value: dovetail.run(SMALL, **{"schedulers": "fifo", name: value}))
        self.try_all(lambda value: dovetail.run(SMALL, schedulers=[value]))
        self.try_all(lambda value: dovetail.run({**SMALL, value: 1}, schedulers="fifo"))
        self.try_all(dovetail.advise)
        for name in ("today", "target", "profile", "threads"):
            self.try_all(lambda value: dovetail.advise(SMALL, **{"until": "5 ms", name: value}))
        self.try_all(lambda value: dovetail.advise(SMALL, until="5 ms", protect=value, p99=value))
        self.try_all(dovetail.schedulers)
        self.try_all(dovetail.packets)
        self.try_all(lambda value: dovetail.reproduce("nothing", capture=value))
        self.try_all(lambda value: dovetail.reproduce("nothing", load=value))
        result = dovetail.run(SMALL, schedulers="fifo")
        self.try_all(lambda value: result[value])
        self.try_all(lambda value: result.flows[value])
        with tempfile.TemporaryDirectory() as folder:
            self.try_all(lambda value: dovetail.sweep(value, folder))
            plan = {"scenario": SMALL, "grid": {"seed": [1]}, "schedulers": ["fifo"]}
            self.try_all(lambda value: dovetail.sweep(plan, f"{folder}/\ud800", jobs=value))
            self.try_all(lambda value: dovetail.sweep(plan, folder, jobs=value))
