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
import unittest

from support import ROOT

NOTEBOOK = ROOT / "docs/tutorial/decide.ipynb"


def installed(module):
    return importlib.util.find_spec(module) is not None


class Notebook(unittest.TestCase):
    @unittest.skipUnless(installed("matplotlib"), "matplotlib is not installed")
    def test_its_cells_do_what_is_shown(self):
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        written = json.loads(NOTEBOOK.read_text())
        namespace, drawn = {"__name__": "__notebook__"}, 0
        code = [cell for cell in written["cells"] if cell["cell_type"] == "code"]
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder) if hasattr(
            contextlib, "chdir"
        ) else contextlib.nullcontext():
            for number, cell in enumerate(code, 1):
                output = io.StringIO()
                with self.subTest(cell=number), contextlib.redirect_stdout(output):
                    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
                drawn += len(pyplot.get_fignums())
                pyplot.close("all")
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
