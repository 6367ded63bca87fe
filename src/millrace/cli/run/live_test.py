"""Runs `millrace run --live` on pseudo-terminals, and checks the screen.

usage: live_test.py MILLRACE
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MILLRACE = sys.argv[1]
ENDLESS = "test:320x240@100000000"


class Screen:
    """Emulates the cursor and scrolling sequences of an xterm, as in its terminfo entry."""

    SEQUENCE = re.compile(r"\x1b\[([?>]?)([0-9;]*)([A-Za-z@`])|\x1b\(.|\x1b[=>78M]|([\x00-\x1a\x1c-\x1f])|([^\x00-\x1f])", re.S)

    def __init__(self, rows, columns):
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1  # scrolling region
        self.rest = ""

    def feed(self, text):
        text = self.rest + text
        cut = text.rfind("\x1b")
        self.rest = text[cut:] if cut >= 0 and not self.SEQUENCE.match(text, cut) else ""
        for match in self.SEQUENCE.finditer(text[: len(text) - len(self.rest)]):
            private, numbers, final, control, character = match.groups()
            if character:
                self.put(character)
            elif control:
                self.control(control)
            elif match.group() == "\x1bM" and self.row == self.top:
                self.move_lines(self.top, 1)
            elif match.group() == "\x1bM":
                self.row = max(self.row - 1, 0)
            elif final and not private:
                self.act(final, [int(number or 0) for number in numbers.split(";")])

    def put(self, character, times=1):
        for _ in range(times):
            if self.column < len(self.cells[0]):
                self.cells[self.row][self.column] = character
                self.column += 1
            self.last = character

    def control(self, control):
        if control == "\r":
            self.column = 0
        elif control == "\n":
            if self.row == self.bottom:
                self.move_lines(self.top, -1)
            else:
                self.row = min(self.row + 1, len(self.cells) - 1)
        elif control == "\t":
            self.column = min(self.column // 8 * 8 + 8, len(self.cells[0]) - 1)
        elif control == "\b":
            self.column = max(self.column - 1, 0)

    def move_lines(self, first, count):
        """Move the lines from the first to the bottom down, or up if the count is negative."""
        moved = self.cells[first : self.bottom + 1]
        empty = [[" "] * len(self.cells[0]) for _ in range(min(abs(count), len(moved)))]
        kept = moved[: max(len(moved) - count, 0)] if count > 0 else moved[-count:]
        self.cells[first : self.bottom + 1] = empty + kept if count > 0 else kept + empty

    def act(self, final, numbers):
        count = max(numbers[0], 1)
        rows, columns = len(self.cells), len(self.cells[0])
        if final == "H":
            self.row, self.column = min(count, rows) - 1, min(max(numbers[1] if len(numbers) > 1 else 1, 1), columns) - 1
        elif final == "d":
            self.row = min(count, rows) - 1
        elif final in "G`":
            self.column = min(count, columns) - 1
        elif final in "ABCD":
            self.row = min(max(self.row + {"A": -count, "B": count}.get(final, 0), 0), rows - 1)
            self.column = min(max(self.column + {"C": count, "D": -count}.get(final, 0), 0), columns - 1)
        elif final == "X":
            self.cells[self.row][self.column : self.column + count] = [" "] * min(count, columns - self.column)
        elif final in "@P":
            line = self.cells[self.row]
            line[self.column :] = ([" "] * count + line[self.column :] if final == "@" else
                                   line[self.column + count :] + [" "] * count)[: columns - self.column]
        elif final == "b":
            self.put(self.last, count)
        elif final == "K":
            first, end = {0: (self.column, columns), 1: (0, self.column + 1), 2: (0, columns)}[numbers[0]]
            self.cells[self.row][first:end] = [" "] * (end - first)
        elif final == "J":
            self.act("K", [0])
            for row in range(0 if numbers[0] == 2 else self.row + 1, rows):
                self.cells[row] = [" "] * columns
        elif final in "LM":
            if self.top <= self.row <= self.bottom:
                self.move_lines(self.row, count if final == "L" else -count)
        elif final in "ST":
            self.move_lines(self.top, count if final == "T" else -count)
        elif final == "r":
            self.top, self.bottom = count - 1, min(numbers[1] if len(numbers) > 1 and numbers[1] else rows, rows) - 1
            self.row = self.column = 0
        elif final not in "mhlt":
            raise AssertionError(f"the test does not know {final!r} {numbers}")

    @property
    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]


class Terminal:
    """millrace on its own terminal."""

    def __init__(self, words, rows=30, columns=100, kind="xterm"):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.text = ""
        self.resize(rows, columns)
        environment = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS", "ESCDELAY")}
        environment |= {"TERM": kind, "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen([MILLRACE, *words], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        start_new_session=True, env=environment,
                                        preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        self.screen = Screen(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Return False if nothing came in that time."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        text = os.read(self.master, 65536).decode(errors="replace")
        self.text += text
        self.screen.feed(text)
        return True

    def until(self, shown, seconds=120):
        end = time.monotonic() + seconds
        while not shown(self.screen.lines):
            if time.monotonic() > end:
                raise AssertionError("\n".join(["never shown:", *self.screen.lines]))
            self.read(0.1)

    def type(self, keys):
        os.write(self.master, keys)

    def finish(self, seconds=120):
        """Return the exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            self.read(0.05)
            if time.monotonic() > end:
                self.process.kill()
                self.process.wait()
                raise AssertionError("did not end")
        while self.read(0.05):
            pass
        self.after = termios.tcgetattr(self.slave)
        os.close(self.slave)
        os.close(self.master)
        return self.process.returncode


def shows(*words):
    return lambda lines: all(any(word in line for line in lines) for word in words)


class Live(unittest.TestCase):
    def assert_clean(self, terminal):
        self.assertEqual(terminal.after, terminal.before)
        left = terminal.text.rindex("\x1b[?1049l")
        self.assertGreater(left, terminal.text.rindex("\x1b[?1049h"))
        self.assertGreater(terminal.text.rindex("\x1b[?25h"), terminal.text.rindex("\x1b[?25l"))
        return terminal.text[left:]

    def test_shows_what_the_run_does_and_leaves_the_terminal_as_it_was(self):
        terminal = Terminal(["run", "blur | sobel_x", ENDLESS, "-o", "null", "--live", "--no-profile"])
        terminal.until(shows("blur | sobel_x", "frames/s", "decode", "compute", "encode", "running", "incumbent", "trial",
                             "worker 0", "last decisions", "started"))
        shares = [int(re.search(r"(\d+) %", line)[1]) for line in terminal.screen.lines
                  if line.startswith(("decode", "compute", "encode"))]
        self.assertEqual(len(shares), 3)
        self.assertLess(sum(shares), 125)
        terminal.type(b"\x03")
        self.assertEqual(terminal.finish(), 130)
        rest = self.assert_clean(terminal)
        self.assertIn("interrupted after", rest)

    def test_follows_the_size_of_the_terminal(self):
        terminal = Terminal(["run", "blur", ENDLESS, "-o", "null", "--structure", "tiled", "--live", "--no-profile"])
        terminal.until(shows("the schedule was given", "worker 0"))
        for rows, columns in ((10, 40), (3, 20), (1, 1), (50, 200), (24, 80)):
            terminal.resize(rows, columns)
            terminal.until(lambda lines: lines[0] == "blur"[:columns])
            if rows > 8:
                terminal.until(shows("compute"))
        terminal.type(b"\x03")
        self.assertEqual(terminal.finish(), 130)
        self.assert_clean(terminal)

    def test_ends_with_the_run_and_its_summary(self):
        terminal = Terminal(["run", "blur", "test:320x240@50", "-o", "null", "--live", "--no-profile"])
        self.assertEqual(terminal.finish(), 0)
        self.assertIn("50 frames", self.assert_clean(terminal))

    def test_a_run_that_fails_leaves_the_terminal_as_it_was(self):
        with tempfile.NamedTemporaryFile(suffix=".y4m") as cut:
            cut.write(b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\nFRAME\n" + bytes(64 * 48 * 3 // 2) + b"FRAME\n" + bytes(99))
            cut.flush()
            terminal = Terminal(["run", "blur", cut.name, "-o", "null", "--live", "--no-profile"])
            self.assertEqual(terminal.finish(), 1)
        self.assertIn("millrace: ", self.assert_clean(terminal))

    def test_without_a_terminal_says_so_in_one_line(self):
        words = [MILLRACE, "run", "blur", "test:64x48@5", "-o", "null", "--live", "--no-profile"]
        done = subprocess.run(words, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
        self.assertIn(b"--live", done.stderr)
        for kind in "dumb", "no-such-terminal", "":
            terminal = Terminal(words[1:], kind=kind)
            self.assertEqual(terminal.finish(), 2)
            self.assertEqual(terminal.after, terminal.before)
            self.assertEqual((terminal.text.count("\n"), terminal.text.count("\x1b")), (1, 0), terminal.text)
        for other in "--measure", "--count":
            terminal = Terminal([*words[1:], other])
            self.assertEqual(terminal.finish(), 2)
            self.assertNotIn("\x1b", terminal.text)

    def test_a_name_that_would_act_on_the_terminal_is_shown_as_it_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "a\x1b]0;evil\x07\n.y4m")
            with open(name, "wb") as video:
                video.write(b"YUV4MPEG2 W64 H48 F25:1 C420jpeg\n" + (b"FRAME\n" + bytes(64 * 48 * 3 // 2)))
            terminal = Terminal(["run", "blur", name, "-o", "null", "--loop", "100000000", "--live", "--no-profile"], columns=200)
            terminal.until(shows("\\x1b]0;evil\\x07\\x0a.y4m -> null"))
            terminal.type(b"\x03")
            self.assertEqual(terminal.finish(), 130)
        self.assertNotIn("\x1b]0", terminal.text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
