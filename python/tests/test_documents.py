"""What the pages show of Python is so.

A block marked `python` is run, all of a page in one namespace, after the page's `dovetail` commands in blocks marked
`sh`; a block marked `text` directly below it is what it prints. The reference is made of the stubs. With
DOVETAIL_WRITE=1 both are written instead (`make documents`).
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

import reference
from support import PROGRAM, ROOT

PAGES = ["README.md", "docs/tutorial/python.md", "docs/how-to/sweep.md"]
OPTIONAL = {"polars", "pandas", "pyarrow", "matplotlib"}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def writing():
    return "DOVETAIL_WRITE" in os.environ


class Pages(unittest.TestCase):
    def test_blocks_do_what_is_said(self):
        ran = 0
        for page in PAGES:
            ran += self.page(page)
        self.assertGreater(ran, 5)

    def page(self, page):
        path = ROOT / page
        text = path.read_text()
        blocks = list(FENCE.finditer(text))
        outputs, namespace, ran = [], {"__name__": "__page__"}, 0
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "scenarios", Path(folder) / "scenarios")
            before = os.getcwd()
            os.chdir(folder)
            try:
                if not any(block[1] == "python" for block in blocks):
                    return 0
                for k, block in enumerate(blocks):
                    line = text[: block.start()].count("\n") + 1
                    if block[1] == "sh":
                        self.commands(block[2])
                    if block[1] != "python":
                        continue
                    with self.subTest(page=page, line=line):
                        output = self.run_block(page, line, block[2], namespace)
                        ran += 1
                        below = blocks[k + 1] if k + 1 < len(blocks) else None
                        shown = below is not None and below[1] == "text"
                        if shown and text[block.end() : below.start()].strip() == "":
                            outputs.append((below.start(2), below.end(2), output))
                            if not writing():
                                self.assertEqual(below[2], output)
            finally:
                os.chdir(before)
        if writing() and outputs:
            for start, end, output in reversed(outputs):
                text = text[:start] + output + text[end:]
            path.write_text(text)
        return ran

    def run_block(self, page, line, source, namespace):
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                # So that errors name the line of the page.
                exec(compile("\n" * line + source, page, "exec"), namespace)
        except ModuleNotFoundError as error:
            if error.name in OPTIONAL:
                self.skipTest(f"{page}:{line}: {error.name} is not installed")
            raise
        return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"

    def commands(self, lines):
        for line in lines.splitlines():
            if line.startswith(("dovetail trace ", "dovetail sweep ")):
                subprocess.run([PROGRAM, *shlex.split(line)[1:]], check=True, capture_output=True)


class Reference(unittest.TestCase):
    def test_it_is_what_the_stubs_say(self):
        page = ROOT / "docs/reference/python.md"
        made = reference.page()
        if writing():
            page.write_text(made)
        self.assertEqual(page.read_text(), made, "DOVETAIL_WRITE=1 writes it anew: make documents")

    def test_the_stubs_are_of_what_there_is(self):
        for owner, name in reference.described():
            self.assertTrue(hasattr(owner, name), f"{owner.__name__} has no {name}")
        for owner in reference.described_owners():
            described = {name for of, name in reference.described() if of is owner}
            public = {name for name in vars(owner) if not name.startswith("_")}
            self.assertEqual(public - described, set(), f"the stubs of {owner.__name__} lack these")
