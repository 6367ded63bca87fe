"""Ctrl-C ends every call that can last."""

import inspect
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import millrace as mr
from millrace import _millrace

# What the call of the extension is, and a program that makes it last for minutes. `pipe` has no writer.
LASTING = {
    "predict": "models.predict('a 1ms outputs 100; b serial 1ms', threads=list(range(700, 1000)))",
    "simulate": "models.simulate('a 1ms; b serial 1ms', items=9 * 10**8)",
    "Run.wait": "mr.run('blur', 'test:64x48@100000000')",
    "Run.wait, for an input": "mr.run('blur', 'pipe')",
    "Run.output_format": "mr.open('pipe').format",
    "Run.origin": "_run().origin()",
    "Run.take": "list(mr.Pipeline('blur').stream('pipe'))",
    "Run.process": "mr.Pipeline('|'.join(['median'] * 20))(np.zeros((20000, 20000), np.uint8))",
    "Run.push": "_push()",
}
# The others, and why they do not last.
SHORT = {
    "version": "a constant", "filters": "a constant", "machine": "asks the system once",
    "plane_shapes": "arithmetic", "needs_color": "reads a text or a regular file",
    "frame_times": "asks for signals itself; lasts only for files of gigabytes",
    "Run.input": "sets an option", "Run.input_frames": "sets an option", "Run.input_frames_like": "sets an option",
    "Run.output": "sets an option", "Run.output_frames": "sets an option", "Run.start": "opens nothing",
    "Run.start_in_place": "opens nothing", "Run.timestamp": "of the last frame", "Run.beside": "of the last frame",
    "Run.end": "sets a flag", "Run.stop": "sets a flag", "Run.progress": "reads counters",
    "Run.report": "of a run that has ended", "Run.explanation": "of a run that has ended",
}
PROGRAM = """
import millrace as mr
import numpy as np
from millrace import _millrace, models

def _run():
    run = _millrace.Run("blur", {}, "[]")
    run.input(b"pipe")
    run.output_frames()
    run.start()
    return run

# Not `with`: leaving it would write the frames that have been pushed, until a second Ctrl-C.
def _push():
    video = mr.write("pipe.y4m", like=mr.Format(4000, 3000))
    for _ in range(1000000):
        video.write(np.zeros((3000, 4000), np.uint8))

print("on", flush=True)
"""


class Interruption(unittest.TestCase):
    def test_every_function_of_the_extension_lasts_or_does_not(self):
        found = {name for name, one in vars(_millrace).items() if not name.startswith("_") and not inspect.isclass(one)}
        found |= {f"Run.{name}" for name in vars(_millrace.Run) if not name.startswith("_")}
        lasting = {name.split(",")[0] for name in LASTING}
        self.assertEqual(found, lasting | set(SHORT))
        self.assertFalse(lasting & set(SHORT))

    def test_ctrl_c_ends_every_call_that_lasts(self):
        for name, call in LASTING.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                os.mkfifo(os.path.join(folder, "pipe"))
                # A reader that never reads.
                os.mkfifo(os.path.join(folder, "pipe.y4m"))
                reader = os.open(os.path.join(folder, "pipe.y4m"), os.O_RDONLY | os.O_NONBLOCK)
                self.addCleanup(os.close, reader)
                # A shell starts background processes with the signal ignored.
                child = subprocess.Popen([sys.executable, "-c", PROGRAM + call], cwd=folder, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True,
                                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                self.addCleanup(child.kill)
                self.assertEqual(child.stdout.readline(), "on\n")
                time.sleep(1)  # until it is in the call; earlier, Python itself would heed the signal
                self.assertIsNone(child.poll(), "it does not last")
                begun = time.monotonic()
                child.send_signal(signal.SIGINT)
                _, error = child.communicate(timeout=60)
                self.assertIn("KeyboardInterrupt", error)
                self.assertLess(time.monotonic() - begun, 20)

    def test_a_pipeline_is_not_read_from_a_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "pipe.toml")
            os.mkfifo(name)
            for call in (lambda: mr.Pipeline(name), lambda: mr.run(name, "test:64x48@3"),
                         lambda: mr.models.predict(name), lambda: mr.models.simulate(name, cores=1)):
                with self.assertRaisesRegex(mr.UsageError, re.escape(name) + ": is a pipe or a device"):
                    call()


if __name__ == "__main__":
    unittest.main()
