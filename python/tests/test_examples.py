"""The notebooks of python/examples, cell by cell."""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


class Notebooks(unittest.TestCase):
    def test_run_from_the_first_cell_to_the_last(self):
        notebooks = sorted(EXAMPLES.glob("*.ipynb"))
        self.assertGreaterEqual(len(notebooks), 4)
        for notebook in notebooks:
            told = json.loads(notebook.read_text())
            self.assertEqual(told["nbformat"], 4)
            names = {"__name__": "__main__"}
            for i, cell in enumerate(told["cells"]):
                # Outputs differ between machines, so they are not stored.
                self.assertFalse(cell.get("outputs"), f"{notebook.name}, cell {i}: clear its outputs")
                if cell["cell_type"] != "code":
                    continue
                with self.subTest(notebook=notebook.name, cell=i), contextlib.redirect_stdout(io.StringIO()), \
                        contextlib.redirect_stderr(io.StringIO()):
                    exec(compile("".join(cell["source"]), f"{notebook.name}, cell {i}", "exec"), names)


if __name__ == "__main__":
    unittest.main()
