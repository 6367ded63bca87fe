"""Python snippets in the documentation run as printed.

python -m unittest discover python/tests
"""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

import millrace as mr
import numpy as np

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

ROOT = pathlib.Path(__file__).resolve().parents[2]


def snippets(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        mr.run("blur", "test:64x48@3", "in.mp4", no_profile=True)
        np.save("curve.npy", np.linspace(0, 1, 300))

    def ran(self, page):
        """Run the snippets of a page in order and return their variables. They expect an image to exist."""
        names = {"image": np.arange(40 * 60, dtype=np.uint8).reshape(40, 60)}
        for text in snippets(page):
            file = pathlib.Path("snippet.py")
            file.write_text(text, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(text, str(file), "exec"), names)
        return names

    def test_of_the_readme_run(self):
        self.assertIn("emboss", self.ran("README.md"))

    def test_of_the_page_on_the_library_run_and_make_what_is_said(self):
        names = self.ran("docs/library.md")
        image = names["image"]
        self.assertEqual(names["out"].shape, image.shape)
        filters = [names[name] for name in ("graded", "trail", "nearest", "steadied")]
        np.testing.assert_array_equal(mr.Pipeline("trail([1])", filters=filters)(image), image)
        self.assertEqual(mr.Pipeline("trail([0.5, 0.3, 0.2]) | graded | nearest(0.5)", filters=filters)(image).shape, (20, 30))
        with mr.open("in.mp4") as source:
            self.assertEqual(len(list(mr.Pipeline("steadied", filters=filters).stream(source))), 3)
        for name in "edges.mkv", "turned.mkv", "relief.mkv":
            with mr.open(name) as written:
                self.assertEqual(len(list(written)), 3)


if __name__ == "__main__":
    unittest.main()
