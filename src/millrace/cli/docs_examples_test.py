"""Runs the examples of the README and of docs/, so that each does what the page says, and follows the links.

usage: docs_examples_test.py MILLRACE SOURCE_DIR

Every command of millrace in an indented or fenced block is checked: its verb and options exist. Commands on generated clips
or on the files made below are also run, in the order of the page. An example that shows an error must fail with that
error. Generated clips are made smaller.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

MILLRACE = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Verbs that end by themselves in seconds. The others watch programs, listen, or measure for minutes.
RUN = {"run", "batch", "plan", "chunk", "join", "filters", "model", "profiles", "report"}
SLOW = {"--paper"}  # takes a minute
MOST_WIDTH, MOST_HEIGHT, MOST_FRAMES = 160, 120, 800
PLACEHOLDER = re.compile(r"(^|[ /=])(\[options\]|[A-Z]{2,}[A-Z_]*|\.\.\.)($|[ .,])")
ERROR = re.compile(r"^millrace: .*")


def blocks_of(text):
    """Yield the lines of each indented or fenced block."""
    block, fenced = [], False
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            block.append(line if fenced else line[4:])
            continue
        if block and not fenced:
            yield block
            block = []


def commands_of(block):
    """Yield (command, lines that it prints) of a block; comments and continuations are resolved."""
    command, output = None, []
    lines = iter(block)
    for line in lines:
        begun = re.match(r"(?:\$ )?(millrace(?:-\w+)? .*)", line)
        if not begun or ERROR.match(line):
            output.append(line)
            continue
        if command:
            yield command, output
        command, output = begun.group(1), []
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        command = re.sub(r"\s+# .*$", "", command)
    if command:
        yield command, output


def examples():
    for page in PAGES:
        for block in blocks_of(page.read_text()):
            for command, output in commands_of(block):
                if re.match(r"millrace [a-z]+ ", command + " "):
                    yield page, command, output


def first_command(command):
    """Return the words of the part that is millrace itself, or None if the shell does more than pass them on."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|&;<>"):
            break
        words.append(word)
    return None if any("$" in word for word in words) or "<" in command else words


def smaller(word):
    clip = re.fullmatch(r"test:(\d+)x(\d+)@(\d+)", word)
    if not clip:
        return word
    return "test:{}x{}@{}".format(*map(min, map(int, clip.groups()), (MOST_WIDTH, MOST_HEIGHT, MOST_FRAMES)))


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.environment = os.environ | {"XDG_CACHE_HOME": str(cls.folder / "cache"), "COLUMNS": "200"}
        cls.helps = {}

    def millrace(self, *words, cwd):
        return subprocess.run([MILLRACE, *words], cwd=cwd, env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300, check=False)

    def help_of(self, *verbs):
        if verbs not in self.helps:
            self.helps[verbs] = self.millrace(*verbs, "--help", cwd=self.folder).stdout
        return self.helps[verbs]

    def make_inputs(self, folder):
        """Make the files that examples name."""
        clip = folder / "in.mp4"  # two minutes, of few frames
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=1:duration=130", "-pix_fmt",
                        "yuv420p", clip], check=True)
        for name in ("film.mp4", "grain.mp4", "clips/a.mp4", "clips/b.mp4"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(clip, folder / name)
        logo = self.millrace("run", "crop(1)", "test:32x24@1", "-o", folder / "logo.png", "-q", cwd=folder)
        self.assertEqual(logo.returncode, 0, logo.stderr)
        (folder / "edges.toml").write_text('[[stage]]\nfilter = "blur"\n')

    def test_every_verb_and_option_exists(self):
        count = 0
        for page, command, _ in examples():
            words = first_command(command)
            if words is None or len(words) < 2:
                continue
            own = words[2:words.index("--")] if "--" in words[2:] else words[2:]
            with self.subTest(f"{page.name}: {command}"):
                text = self.help_of(words[1])
                if len(words) > 2 and re.search(rf"^  {re.escape(words[2])}  ", text, re.MULTILINE):
                    text += self.help_of(words[1], words[2])
                self.assertIn("Usage", text.title(), "no such verb")
                for option in (word.split("=")[0] for word in own if re.match(r"--?[a-z]", word)):
                    self.assertRegex(text, rf"(?<![\w-]){re.escape(option)}(?![\w-])")
                count += 1
        self.assertGreater(count, 60, "the pages have examples")

    def test_examples_on_generated_clips_run_as_the_page_says(self):
        count = 0
        for page in PAGES:
            folder = self.folder / page.relative_to(ROOT).with_suffix("")
            folder.mkdir(parents=True)
            self.make_inputs(folder)
            for of, command, output in examples():
                words = first_command(command)
                if of != page or words is None or words[1] not in RUN or PLACEHOLDER.search(command) or SLOW & set(words):
                    continue
                words = [smaller(word) for word in words]
                if any("/" in word and not (folder / word).parent.exists() and word[0] != "-" for word in words[2:]):
                    continue  # a path that only exists for the reader
                inputs = [word for word in words[2:] if re.search(r"\.(mp4|y4m|264|toml|json|png)$", word)]
                outputs = {words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-o", "--json", "--trace", "--report")}
                if any(not (folder / name).exists() for name in inputs if name not in outputs):
                    continue  # a file of the reader's
                with self.subTest(f"{page.name}: {command}"):
                    for name in outputs:
                        if (folder / name).is_file() and "-y" not in words:
                            (folder / name).unlink()
                    done = self.millrace(*words[1:], cwd=folder)
                    errors = [line for line in output[:1] if ERROR.match(line)]
                    if errors and done.returncode != 0:
                        self.assertIn(errors[0], done.stderr)
                    else:
                        self.assertEqual(done.returncode, 0, done.stderr)
                    count += 1
        self.assertGreater(count, 20, "the pages have examples that run")


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        def anchor(heading):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
            return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")

        for page in [*PAGES, *ROOT.glob("docs/*/*.md"), *ROOT.glob("src/millrace/*/README.md")]:
            text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                name, _, heading = link.partition("#")
                if ":" in name:
                    continue  # on the web
                with self.subTest(f"{page.relative_to(ROOT)}: {link}"):
                    target = page.parent / name if name else page
                    self.assertTrue(target.exists(), "no such file")
                    if heading:
                        self.assertIn(heading, map(anchor, re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
