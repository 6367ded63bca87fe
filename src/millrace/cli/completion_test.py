"""Completes command lines of millrace in real shells.

usage: completion_test.py MILLRACE
"""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

MILLRACE = sys.argv[1]

# Words before the cursor, and words that must be offered. "!word" must not be offered.
CASES = [
    (["r"], ["run", "report", "!batch"]),
    (["profiles", ""], ["list", "show", "clear", "export", "import"]),
    (["run", "--co"], ["--codec", "--count", "!--crf"]),
    (["run", "--codec", ""], ["h264", "h265", "ffv1"]),
    (["run", "--codec", "h26"], ["h264", "h265", "!ffv1"]),
    (["run", "blur", "in.mp4", "--structure", "t"], ["tiled", "!sliding"]),
    (["run", "-o", "out.mp4", "--preset", "very"], ["veryfast", "veryslow", "!slow"]),
    (["run", "ga"], ["gaussian", "!blur"]),
    (["run", "@"], ["@A", "@G"]),
    (["run", "-q", "ga"], ["gaussian"]),
    (["run", "--threads", "2", "ga"], ["gaussian"]),
    (["plan", "ga"], ["gaussian"]),
    (["exec", "--policy", ""], ["auto", "none", "spread", "cpus="]),
    (["exec", "--detect", "p"], ["ptrace", "poll"]),
    (["model", "--strategy", "st"], ["stealing"]),
    (["study", "fig"], ["fig2", "fig7"]),
    (["simulate", "placement", "--p"], ["--paper"]),
]


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "millrace").symlink_to(MILLRACE)
        self.environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "TERM": "dumb",
                                         "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}

    def script(self, shell, name):
        path = self.folder / name
        path.write_bytes(subprocess.run([MILLRACE, "completion", shell], capture_output=True, check=True, timeout=60).stdout)
        return path

    def check(self, offered_for):
        for words, expected in CASES:
            with self.subTest(words=words):
                offered = offered_for(words)
                for word in expected:
                    if word.startswith("!"):
                        self.assertNotIn(word[1:], offered)
                    else:
                        self.assertIn(word, offered)

    def in_bash(self, *words):
        """Call the function as bash does, and return what it offers."""
        code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace 2> "$ERRORS";'
                'printf "%s\\n" "${COMPREPLY[@]}"')
        errors = self.folder / "errors"
        done = subprocess.run(["bash", "--norc", "-c", code, "bash", self.script("bash", "millrace.bash"), "millrace", *words],
                              capture_output=True, text=True, timeout=60, env=self.environment | {"ERRORS": str(errors)})
        self.assertEqual((done.stderr, errors.read_text()), ("", ""))
        return done.stdout.split("\n")

    def test_bash_is_offered_verbs_options_and_values(self):
        self.check(lambda words: self.in_bash(*words))

    def test_bash_completes_the_value_after_an_equals_sign(self):
        self.assertEqual(self.in_bash("run", "--codec", "=", "h26"), ["h264", "h265", ""])
        self.assertIn("ffv1", self.in_bash("run", "--codec", "="))

    def test_bash_completes_the_last_stage_of_a_pipeline(self):
        self.assertEqual(self.in_bash("run", "'blur | gau"), ["blur | gaussian", ""])
        self.assertEqual(self.in_bash("run", "[blur,sobel_"), ["[blur,sobel_x", "[blur,sobel_y", ""])

    def test_bash_offers_old_names_of_options_no_more(self):
        offered = self.in_bash("exec", "--")
        self.assertIn("--detect", offered)
        self.assertNotIn("--birth", offered)

    def test_bash_offers_programs_after_the_dashes_of_exec(self):
        self.assertIn("sleep", self.in_bash("exec", "--policy", "none", "--", "slee"))

    def typed(self, shell, start, line, expected):
        """Type the line and the Tab key into an interactive shell, and wait until it shows what is expected."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe(shell[0], shell, self.environment)
        shown = b""
        try:
            for typed, wanted in ((start + "; echo rea''dy\n", b"ready\r\n"), (line + "\t", expected.encode())):
                os.write(terminal, typed.encode())
                end = time.monotonic() + 60
                shown = b""
                while wanted not in shown:
                    self.assertLess(time.monotonic(), end, shown)
                    if select.select([terminal], [], [], 1)[0]:
                        shown += os.read(terminal, 65536)
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def test_an_interactive_bash_completes_what_is_typed(self):
        bash = ["bash", "--norc", "--noprofile", "-i"]
        (self.folder / "holiday.mp4").touch()
        start = f"source {self.script('bash', 'millrace.bash')}"
        self.typed(bash, start, "millrace run --code", "--codec ")
        self.typed(bash, start, "millrace run 'blur | gaus", "'blur | gaussian")
        self.typed(bash, start, "millrace run blur holi", "holiday.mp4 ")
        self.typed(bash, start, "millrace run blur holiday.mp4 --codec=ffv", "--codec=ffv1 ")

    def test_an_interactive_zsh_completes_what_is_typed(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed: its completion is NOT checked")
        (self.folder / "holiday.mp4").touch()
        self.script("zsh", "_millrace")
        start = f"unsetopt zle_bracketed_paste; fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -u -D"
        zsh = ["zsh", "-f", "-i", "-V"]
        self.typed(zsh, start, "millrace prof", "iles ")
        self.typed(zsh, start, "millrace run --code", "c ")
        self.typed(zsh, start, "millrace run --codec ff", "v1 ")
        self.typed(zsh, start, "millrace run gauss", "ian")
        self.typed(zsh, start, "millrace run blur holi", "day.mp4 ")

    def test_fish_is_offered_verbs_options_and_values(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed: its completion is NOT checked")
        script = self.script("fish", "millrace.fish")
        def offered_for(words):
            line = " ".join(["millrace", *words])
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                                  capture_output=True, text=True, timeout=60, env=self.environment)
            self.assertEqual(done.stderr, "")
            return [answer.split("\t")[0] for answer in done.stdout.splitlines()]
        self.check(offered_for)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
