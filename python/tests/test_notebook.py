"""The tutorial's notebook does what it shows.

Its cells of code are run in order, in one namespace, and what they print is compared with the outputs that the notebook
holds. With DOVETAIL_WRITE=1 these are written instead (`make documents`). Pictures are drawn and not kept.
"""

import contextlib
import importlib.util
import io
import json
import os
import tempfile
import types
import unittest
from unittest import mock

import dovetail
from support import ROOT

NOTEBOOK = ROOT / "docs/tutorial/decide.ipynb"


def installed(module):
    return importlib.util.find_spec(module) is not None


def pictures():
    """Counts the open pictures, and closes them: those of matplotlib, or calls of a stand-in where that is missing."""
    if installed("matplotlib"):
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        def count():
            drawn = len(pyplot.get_fignums())
            pyplot.close("all")
            return drawn

        count()
        return count, contextlib.nullcontext()
    calls = []
    names = ["utilization", "dominant_shares", "latency", "frontier", "service_curves", "gantt"]
    stand_in = types.ModuleType("dovetail.plot")
    for name in names:
        setattr(stand_in, name, lambda *arguments, **named: calls.append(arguments))

    def counted():
        drawn = len(calls)
        calls.clear()
        return drawn

    return counted, mock.patch.object(dovetail, "plot", stand_in, create=True)


class Notebook(unittest.TestCase):
    def test_its_cells_do_what_is_shown(self):
        written = json.loads(NOTEBOOK.read_text())
        namespace, drawn = {"__name__": "__notebook__"}, 0
        code = [cell for cell in written["cells"] if cell["cell_type"] == "code"]
        count, drawing = pictures()
        with tempfile.TemporaryDirectory() as folder, drawing, contextlib.chdir(folder) if hasattr(
            contextlib, "chdir"
        ) else contextlib.nullcontext():
            for number, cell in enumerate(code, 1):
                output = io.StringIO()
                with self.subTest(cell=number), contextlib.redirect_stdout(output):
                    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
                drawn += count()
                lines = output.getvalue().splitlines(keepends=True)
                outputs = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
                if "DOVETAIL_WRITE" in os.environ:
                    cell["outputs"], cell["execution_count"] = outputs, number
                with self.subTest(cell=number):
                    self.assertEqual(cell["outputs"], outputs, "DOVETAIL_WRITE=1 writes it anew: make documents")
        self.assertEqual(drawn, 6, "every picture there is, each once")
        if "DOVETAIL_WRITE" in os.environ:
            NOTEBOOK.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")

    @unittest.skipUnless(installed("nbclient") and installed("ipykernel"), "jupyter is not installed")
    def test_it_runs_in_jupyter(self):
        import nbclient
        import nbformat

        book = nbformat.read(NOTEBOOK, as_version=4)
        nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
        pictures = [o for cell in book.cells for o in cell.get("outputs", []) if o.output_type == "display_data"]
        self.assertEqual(len(pictures), 6)


if __name__ == "__main__":
    unittest.main()
