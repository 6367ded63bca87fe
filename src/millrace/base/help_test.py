"""Checks the --help of a program and of all its verbs, and that its completion scripts load.

usage: help_test.py PROGRAM
"""

import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest

PROGRAM = sys.argv[1]
NAME = pathlib.Path(PROGRAM).name


def environment(**changes):
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
    return kept | changes


def help_of(*verb, **changes):
    done = subprocess.run([PROGRAM, *verb, "--help"], capture_output=True, text=True, timeout=60, env=environment(**changes))
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def verbs_of(*verb):
    """Yield the verbs below this one, as tuples."""
    text = help_of(*verb)
    before_options = text.split("\nUsage:", 1)[1].split("\nOptions:")[0].split("\nArguments:")[0]
    for name in re.findall(r"^  (\w[\w-]*)  ", before_options, re.MULTILINE):
        yield (*verb, name)
        yield from verbs_of(*verb, name)


VERBS = [(), *verbs_of()]


def on_terminal(columns, **changes):
    """Return what --help prints on a terminal of this width."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    # The kernel may drop what is unread when the last writer closes a terminal: keep it open, and mark the end.
    end = b"\0"
    with subprocess.Popen([PROGRAM, "--help"], stdout=other, stdin=subprocess.DEVNULL, env=environment(**changes)) as process:
        marker = threading.Thread(target=lambda: (process.wait(), os.write(other, end)))
        marker.start()
        text = b""
        while not text.endswith(end):
            text += os.read(main, 65536)
        marker.join()
    os.close(other)
    os.close(main)
    return text.removesuffix(end).decode().replace("\r\n", "\n")


class Help(unittest.TestCase):
    def test_every_verb_says_what_it_does_and_how_it_is_used_and_shows_an_example(self):
        self.assertGreater(len(VERBS), 2)
        for verb in VERBS:
            with self.subTest(verb=verb):
                text = help_of(*verb)
                self.assertRegex(text, r"\A[A-Z][^\n]*\n")
                self.assertIn(" ".join(["\nUsage:", NAME, *verb]), text)
                self.assertRegex(text, rf"\nExamples?:\n  # [A-Z][^\n]*\n(  # [^\n]*\n)*  (\S+ )?{NAME} ")
                self.assertIn("--help", text)

    def test_every_option_has_a_text_that_stands_alone(self):
        for verb in VERBS:
            text = help_of(*verb, COLUMNS="300").split("\nUsage:", 1)[1]
            for line in re.findall(r"^  +-.*$", text, re.MULTILINE):
                with self.subTest(verb=verb, line=line):
                    words = re.split(r"\s{2,}", line.strip(), maxsplit=1)
                    if len(words) == 1:  # a long name: its text is on the next line
                        words.append(text.split(line + "\n", 1)[1].split("\n", 1)[0].strip())
                    self.assertRegex(words[1], r"^[A-Z]")
                    self.assertNotRegex(words[1], r"^(Of|As of|That|Which)\b")

    def test_lines_fit_the_width_that_is_asked_for(self):
        for verb in VERBS:
            for columns in 60, 80, 120:
                longest = max(help_of(*verb, COLUMNS=str(columns)).splitlines(), key=len)
                self.assertLessEqual(len(longest), columns, longest)
            longest = max(help_of(*verb).splitlines(), key=len)
            self.assertLessEqual(len(longest), 80, "without a terminal: " + longest)

    def test_a_terminal_gets_its_width_and_colour_unless_it_is_dumb_or_none_is_wanted(self):
        plain = help_of(COLUMNS="64")
        coloured = on_terminal(64, TERM="xterm")
        self.assertIn("\033[1m", coloured)
        self.assertEqual(re.sub(r"\033\[\d*m", "", coloured), plain)
        self.assertEqual(on_terminal(64, TERM="dumb"), plain)
        self.assertEqual(on_terminal(64), plain)
        self.assertEqual(on_terminal(64, TERM="xterm", NO_COLOR="1"), plain)
        self.assertNotIn("\033", help_of(TERM="xterm"))

    def test_mistakes_point_to_the_help_of_the_verb(self):
        for verb in VERBS:
            done = subprocess.run([PROGRAM, *verb, "--no-such-option"], capture_output=True, text=True, timeout=60)
            words = " ".join([NAME, *verb])
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertEqual(done.stderr, f"{NAME}: unknown option '--no-such-option'"
                             + ("; put the options of the program after --" if verb == ("exec",) else "")
                             + f"; see '{words} --help'\n")


class Completion(unittest.TestCase):
    def script(self, shell):
        done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def loads(self, shell, *words):
        if shutil.which(shell) is None:
            self.skipTest(f"{shell} is not installed: its completion is NOT checked")
        with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
            file.write(self.script(shell))
            file.flush()
            done = subprocess.run([shell, *words, file.name], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_script_for_bash_loads(self):
        self.loads("bash", "-n")

    def test_the_script_for_zsh_loads(self):
        self.loads("zsh", "-f", "-n")

    def test_the_script_for_fish_loads(self):
        self.loads("fish", "--no-execute")

    def test_another_shell_is_refused(self):
        done = subprocess.run([PROGRAM, "completion", "tcsh"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("use bash, zsh or fish", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
