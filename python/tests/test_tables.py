"""Arrow's C stream, read by hand, and captures."""

import ctypes
import importlib.util
import tempfile
import unittest
from pathlib import Path

import dovetail

from support import SMALL, program


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
    ("private_data", ctypes.c_void_p),
]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))),
    ("private_data", ctypes.c_void_p),
]


class ArrowArrayStream(ctypes.Structure):
    pass


ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))),
    ("private_data", ctypes.c_void_p),
]


def stream_of(table):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = table.__arrow_c_stream__()
    return capsule, ctypes.cast(get(capsule, b"arrow_array_stream"), ctypes.POINTER(ArrowArrayStream))


class Streams(unittest.TestCase):
    def test_the_interface_is_arrows(self):
        result = dovetail.run(SMALL, schedulers=["drfq", "fifo"])
        addresses = []
        for source in (result, result.packets):
            capsule, stream = stream_of(source)
            schema, array = ArrowSchema(), ArrowArray()
            self.assertEqual(stream.contents.get_schema(stream, schema), 0)
            names = [schema.children[k].contents.name.decode() for k in range(schema.n_children)]
            formats = {name: schema.children[k].contents.format for k, name in enumerate(names)}
            self.assertEqual(names, result.packets.columns)
            self.assertEqual((formats["arrival_ns"], formats["bytes"], formats["scheduler"]), (b"L", b"I", b"i"))
            self.assertEqual(stream.contents.get_next(stream, array), 0)
            self.assertEqual(array.length, len(result.packets))
            arrivals = array.children[names.index("arrival_ns")].contents
            numbers = ctypes.cast(arrivals.buffers[1], ctypes.POINTER(ctypes.c_uint64))
            self.assertEqual(numbers[: array.length], result.packets["arrival_ns"])
            addresses.append(arrivals.buffers[1])
            schema.release(schema)
            array.release(array)
            stream.contents.get_next(stream, array)
            self.assertFalse(array.release, "the stream has ended")
            del capsule
        self.assertEqual(*addresses, "the same memory, not a copy")

    @unittest.skipUnless(importlib.util.find_spec("polars"), "polars is not installed")
    def test_polars_reads_it(self):
        import polars

        result = dovetail.run(SMALL, schedulers=["drfq", "fifo"])
        for table in (result.packets, result.flows, result.utilization, result.shares):
            frame = polars.DataFrame(table)
            self.assertEqual(frame.columns, table.columns)
            self.assertEqual(frame.to_dict(as_series=False), table.to_dict())

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_pyarrow_and_pandas_read_it(self):
        import pyarrow

        result = dovetail.run(SMALL, schedulers=["drfq", "fifo"])
        table = pyarrow.table(result)
        table.validate(full=True)
        self.assertEqual(table.to_pydict(), result.packets.to_dict())
        if importlib.util.find_spec("pandas"):
            frame = table.to_pandas()
            self.assertEqual(frame.bytes.sum(), sum(result.packets["bytes"]))


class Captures(unittest.TestCase):
    def test_packets_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.pcap"
            program("trace", "synth", str(path), "--packets", "2000", "--flows", "50")
            table = dovetail.packets(path)
            self.assertEqual(len(table), 2000)
            packets = table.to_dict()
            self.assertEqual(packets["arrival_ns"], sorted(packets["arrival_ns"]))
            self.assertEqual(len(set(packets["flow"])), 50)
            tuples = set(zip(*(packets[name] for name in ("src", "sport", "dst", "dport", "protocol"))))
            self.assertEqual(len(tuples), 50)
            short = Path(folder) / "short.pcap"
            short.write_bytes(path.read_bytes()[:-3])
            with self.assertWarns(UserWarning):
                self.assertEqual(len(dovetail.packets(str(short))), 1999)
            with self.assertRaises(dovetail.CaptureError) as raised:
                dovetail.packets(Path(folder) / "mode.pcap")
            self.assertIn("made.pcap", raised.exception.hint)
            advice = dovetail.advise(path)
            self.assertEqual(len(advice.sentences), 3)
            none = Path(folder) / "none.pcap"
            none.write_text("no capture")
            with self.assertRaises(dovetail.CaptureError):
                dovetail.packets(none)
