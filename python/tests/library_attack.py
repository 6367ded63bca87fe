#!/usr/bin/env python3
"""Attacks the Python package and the C library with bad input. They must filter correctly or report the problem in one
line. They must not crash, hang or touch foreign memory, and must stop when asked.

    library_attack.py LIBRARY [--rounds N] [--only WORD] [--seed N]

LIBRARY: libmillrace.so. Run it with the Python that has the package. Each attack runs in its own process. --rounds:
repetitions of random attacks (200). The exit code is 1 if an attack succeeded.
"""

import argparse
import ctypes
import inspect
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "src/millrace/base"))
from attack import Held, check, run_attacks, too_few_addresses  # noqa: E402

PATIENCE = 120  # after so many seconds something hangs
HEEDED = 20  # after so many seconds Ctrl-C was ignored; allows for a busy machine


class Place:
    """A folder, and the child processes that attack in it."""

    def __init__(self, library, rounds, seed):
        self.library, self.rounds, self.seed = library, rounds, seed
        self.folder = tempfile.mkdtemp(prefix="millrace-attack-")
        self.environment = os.environ | {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "TMPDIR": self.folder,
                                         "OPENBLAS_NUM_THREADS": "1"}  # NumPy's BLAS raises SIGINT if it gets no thread

    def close(self):
        shutil.rmtree(self.folder)

    def start(self, child, *words, before=None):
        return subprocess.Popen([sys.executable, __file__, self.library, "--child", child.__name__, "--rounds", str(self.rounds),
                                 "--seed", str(self.seed), *words], cwd=self.folder, env=self.environment, preexec_fn=before,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ends(self, process, what, patience=PATIENCE):
        try:
            said, wrong = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Held(f"{what}: hangs") from None
        # Python ends by SIGINT if nothing catches KeyboardInterrupt.
        check(process.returncode >= 0 or process.returncode == -signal.SIGINT and "KeyboardInterrupt" in wrong,
              f"{what}: ends by signal {-process.returncode}: {wrong[-400:]}")
        return process.returncode, said, wrong

    def holds(self, child, *words):
        code, _, wrong = self.ends(self.start(child, *words), child.__name__)
        check(code == 0, f"{child.__name__}: {wrong[-600:]}")


# ---- Attacks run by the children, with the package and random numbers

def refused(error):
    """Whether the error is a mistake reported in one line."""
    import millrace as mr
    if not isinstance(error, (mr.UsageError, TypeError)):
        return False
    check("\n" not in str(error) and str(error), f"not one line: {error!r}")
    return True


def any_array(chance, np):
    """An array of random shape, type and strides, usually a valid image."""
    kinds = [np.uint8] * 4 + [np.uint16] * 3 + [np.float32] * 3 + [np.float64, np.int8, np.bool_, ">u2", ">f4", np.complex64, object,
                                                                   np.float16, [("a", "u1"), ("b", "u1")], "S3", np.int64]
    kind = np.dtype(chance.choice(kinds))
    axes = chance.choice((2, 2, 2, 3, 3, 3, 4, 1, 0))
    shape = [chance.choice((0, 1, 2, 3, 4, 5, 17, 33, 64, 130)) if chance.random() < 0.9 else chance.randrange(400) for _ in range(axes)]
    count = max(1, int(np.prod(shape)))
    if kind.kind in "uif":
        flat = np.frombuffer(chance.randbytes(count), np.uint8).astype(kind if kind.kind != "f" else kind.newbyteorder("="))
        flat = (flat / 255 if kind.kind == "f" else flat * (257 if kind.itemsize == 2 and kind.kind == "u" else 1)).astype(kind)
    else:
        flat = np.zeros(count, kind)
    array = flat[:int(np.prod(shape))].reshape(shape)
    for axis in range(array.ndim):
        turn = chance.random()
        if turn < 0.1:
            array = np.flip(array, axis)
        elif turn < 0.2 and array.shape[axis] > 2:
            array = np.take(np.repeat(array, 2, axis), range(0, 2 * array.shape[axis], 2), axis)[
                tuple(slice(None) if other != axis else slice(None, None, 2) for other in range(array.ndim))]
    if chance.random() < 0.15 and array.ndim > 1:
        array = array.swapaxes(*chance.sample(range(array.ndim), 2))
    if chance.random() < 0.05 and array.ndim > 1:
        array = np.broadcast_to(array[:1], array.shape)
    return array


def arrays(chance, rounds, folder, library):
    """Odd shapes, types, strides and outs: the result equals that of a copy, and no other memory is touched."""
    import millrace as mr
    import numpy as np
    texts = ("blur", "gaussian(2) | sobel_x", "rotate(20)", "crop(0.5)", "threshold(0.5)", "resize(31, 0)", "curve([0, 0.1, 1, 0.9])")
    pipelines = [mr.Pipeline(text, no_profile=True) for text in texts]
    done = 0
    for _ in range(rounds * 10):
        pipeline, array = chance.choice(pipelines), any_array(chance, np)
        fitting = {2: (None, "HW"), 3: (None, "NHW", "HWC"), 4: ("NHWC",)}.get(array.ndim, (None,))
        layout = chance.choice(fitting if chance.random() < 0.8 else (None, "HW", "NHW", "HWC", "NHWC", "CHW"))
        what = f"{pipeline.text}, {array.shape} of {array.dtype}, strides {array.strides}, layout {layout}"
        before = array.tobytes() if array.dtype != object else b""
        try:
            made = pipeline(array, layout=layout)
        except Exception as error:
            check(refused(error), f"{what}: {error!r}")
            continue
        finally:
            check(array.dtype == object or array.tobytes() == before, f"{what}: the image was written to")
        done += 1
        np.testing.assert_array_equal(made, pipeline(np.ascontiguousarray(array), layout=layout), what)
        # Output memory with a margin, rows apart, upside down.
        room = np.full((made.ndim > 2 and len(made) or 1, made.shape[-2] + 4, made.shape[-1] + 6), 77, made.dtype)
        if made.ndim > 3 or layout in ("HWC", "NHWC"):
            continue
        out = room[:, 2:-2, 3:-3][:, ::chance.choice((1, -1))]
        out = out if made.ndim == 3 else out[0]
        check(pipeline(array, out=out, layout=layout) is out, f"{what}: out is not returned")
        np.testing.assert_array_equal(out, made, what)
        edge = room.copy()
        edge[:, 2:-2, 3:-3] = 77
        check((edge == 77).all(), f"{what}: memory beside out was written to")
        for same in (array, array[::-1]):
            try:
                pipeline(array, out=same, layout=layout)
                check(not np.may_share_memory(same, array), f"{what}: onto itself")
            except Exception as error:
                check(refused(error), f"{what}, onto itself: {error!r}")
            check(array.tobytes() == before, f"{what}: the image was written to")
    check(done > rounds, f"only {done} images were filtered")


def floats(chance, rounds, folder, library):
    """NaN, infinities and extreme floats."""
    import millrace as mr
    import numpy as np
    pipelines = [mr.Pipeline(text, no_profile=True) for text in ("blur", "curve([0, 0.1, 1, 0.9])", "rotate(20) | levels(0.1, 0.9)",
                                                                 "median", "discretise(5)", "resize(200, 0)")]
    strange = (np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, -0.0, 2.0**32, -(2.0**31), 1e10)
    for _ in range(rounds):
        image = np.frombuffer(chance.randbytes(40 * 50), np.uint8).reshape(40, 50).astype(np.float32) / 255
        image[chance.randrange(40), chance.randrange(50)] = number = np.float32(chance.choice(strange))
        pipeline = chance.choice(pipelines)
        try:
            pipeline(image)
            check(np.isfinite(number), f"{number} was filtered by {pipeline.text}")
        except mr.UsageError as error:
            check(not np.isfinite(number) and "row" in str(error), f"{number}: {error}")


def frames_in_loops(chance, rounds, folder, library):
    """Exceptions in a loop leave a valid file of the frames written so far, and propagate unchanged."""
    import millrace as mr
    import numpy as np

    class Mine(Exception):
        pass

    warnings.simplefilter("ignore")
    for _ in range(max(4, rounds // 8)):
        count, name = chance.randrange(1, 30), chance.choice(("a.y4m", "a.mkv", "a.mp4"))
        path = os.path.join(folder, name)
        gray = np.full((48, 64), 90, np.uint8)
        chroma = np.full((24, 32), 128, np.uint8)
        error = chance.choice((Mine, KeyboardInterrupt, SystemExit, StopIteration, MemoryError, GeneratorExit))
        try:
            with mr.write(path, like=mr.Format(64, 48, "420"), force=True) as target:
                for _ in range(count):
                    target.write(mr.Frame((gray, chroma, chroma)))
                raise error
        except error:
            pass
        with mr.open(path) as video:
            check(sum(1 for _ in video) == count, f"{name}: frames were lost by {error.__name__}")
            check(len(video) == count, f"{name}: {len(video)} frames, not {count}")

        def source(last=count, raised=error):
            for _ in range(last):
                yield gray
            if raised is not StopIteration and raised is not GeneratorExit:
                raise raised

        try:
            got = sum(1 for _ in mr.Pipeline("blur").stream(source(), like=mr.Format(64, 48)))
            check(error in (StopIteration, GeneratorExit) and got == count, f"{error.__name__} was swallowed")
        except error:
            pass


def stamps(chance, rounds, folder, library):
    """Random timestamps, rates and time bases are written unchanged, or refused."""
    import millrace as mr
    import numpy as np
    from fractions import Fraction
    gray = np.zeros((16, 32), np.uint8)
    path = os.path.join(folder, "a.mkv")
    warnings.simplefilter("ignore")
    numbers = (0, 1, 25, 29.97, 1e-300, 1e300, float("nan"), -3, "30000/1001", "x", None, Fraction(1, 2**40), 2**70, 23.976, True, 2**31)
    for _ in range(rounds // 2):
        try:
            like = mr.Format(32, 16, rate=chance.choice(numbers), time_base=chance.choice((None, 0.04, Fraction(1, 90000), *numbers)))
            last = [chance.choice((None, 0, 1, -5, 7, 2**62, -(2**63), 2**63, 2**64)) for _ in range(4)]
            with mr.write(path, like=like, force=True, codec="ffv1") as target:
                for stamp in last:
                    target.write(mr.Frame((gray,), stamp))
        except (mr.UsageError, mr.RunError, TypeError, OverflowError) as error:
            check("\n" not in str(error) or isinstance(error, TypeError), f"{error!r}")
            continue
        with mr.open(path) as video:
            check(sum(1 for _ in video) == 4, f"{last} at {like}: frames were lost")


def broken_files(chance, rounds, folder, library):
    """Damaged videos, opened, measured, indexed and copied, give frames or an error, soon."""
    import millrace as mr
    import numpy as np
    warnings.simplefilter("ignore")
    whole = []
    for name in ("a.mkv", "a.mp4", "a.y4m"):
        with mr.write(os.path.join(folder, name), like=mr.Format(64, 48, "420"), force=True) as target:
            for _ in range(12):
                target.write(mr.Frame((np.frombuffer(chance.randbytes(64 * 48), np.uint8).reshape(48, 64),
                                       *[np.full((24, 32), 128, np.uint8)] * 2)))
        whole.append((name, pathlib.Path(folder, name).read_bytes()))
    for _ in range(rounds // 2):
        name, data = chance.choice(whole)
        spoiled = bytearray(data[:chance.randrange(len(data))] if chance.random() < 0.4 else data)
        for _ in range(chance.randrange(30)):
            if spoiled:
                spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        path = os.path.join(folder, "b" + name)
        pathlib.Path(path).write_bytes(spoiled)
        begun = time.monotonic()
        for ask in (len, list, lambda video: video[5], lambda video: video[-3:], lambda video: list(video.seek(0.2))):
            try:
                with mr.open(path) as video:
                    ask(video)
            except (mr.UsageError, mr.RunError, IndexError) as error:
                check("\n" not in str(error), f"not one line: {error}")
        try:
            with mr.open(path) as video, mr.write(os.path.join(folder, "c.mkv"), like=video, force=True) as target:
                for frame in video:
                    target.write(frame)
        except (mr.UsageError, mr.RunError):
            pass
        check(time.monotonic() - begun < PATIENCE / 4, f"{name}: takes {time.monotonic() - begun:.0f} s")


def many_threads(chance, rounds, folder, library):
    """Threads share pipelines, streams, readers and writers, and close them meanwhile."""
    import millrace as mr
    import numpy as np
    wrong = []

    def guarded(call):
        def run():
            try:
                call()
            except mr.UsageError as error:
                if "closed" not in str(error):
                    wrong.append(repr(error))
            except BaseException as error:
                wrong.append(repr(error))
        return threading.Thread(target=run)

    def all_of(calls):
        threads = [guarded(call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            check(not thread.is_alive(), "a thread hangs")

    images = [np.frombuffer(chance.randbytes(60 * 80), np.uint8).reshape(60, 80)[:40 + size] for size in range(12)]
    pipeline = mr.Pipeline("blur | rotate(5)", no_profile=True)
    expected = [pipeline(image) for image in images]

    def filter_some():
        for number in random.sample(range(12), 12):
            if not np.array_equal(pipeline(images[number]), expected[number]):
                wrong.append(f"image {number} came out wrong")
        pipeline.explain()

    for _ in range(max(2, rounds // 40)):
        try:
            all_of([filter_some] * 4)
        finally:
            check(not wrong, f"one pipeline: {wrong[:3]}")
        got = []
        stream = mr.Pipeline("blur").stream("test:64x48@60")
        all_of([lambda: got.extend(frame.timestamp for frame in stream)] * 4)
        check(len(got) == 60 and not wrong, f"one stream: {len(got)} frames, {wrong[:3]}")
        stream = mr.Pipeline("blur").stream("test:64x48@100000000")
        all_of([lambda: sum(1 for _ in stream)] * 3 + [lambda: (time.sleep(chance.random() / 5), stream.close())])
        path = os.path.join(folder, "a.y4m")
        with mr.write(path, like=mr.Format(16, 8), force=True) as target:
            all_of([lambda: [target.write(np.zeros((8, 16), np.uint8)) for _ in range(25)]] * 4)
        with mr.open(path) as video:
            numbers = range(len(video))
            check(len(numbers) == 100, f"one writer: {len(numbers)} frames")
            all_of([lambda: sum(1 for _ in video)] * 3)
        target = mr.write(path, like=mr.Format(16, 8), force=True)
        target.write(np.zeros((8, 16), np.uint8))
        all_of([lambda: [target.write(np.zeros((8, 16), np.uint8)) for _ in range(1000)]] * 2 + [target.close] * 2)
        check(not wrong, f"closed under way: {wrong[:3]}")


# The library in C, by ctypes.

class Format(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("width", ctypes.c_int32), ("height", ctypes.c_int32), ("chroma", ctypes.c_int32),
                ("bits", ctypes.c_int32), ("rate", ctypes.c_int32 * 2), ("time_base", ctypes.c_int32 * 2)]


class CFrame(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("planes", ctypes.c_void_p * 4), ("strides", ctypes.c_ssize_t * 4),
                ("timestamp", ctypes.c_int64)]


OK, FAILURE, USAGE, INTERRUPTED, END, AGAIN = range(6)
NO_TIMESTAMP = -(2**63)


def opened(library):
    lib = ctypes.CDLL(library)
    lib.millrace_error.restype = ctypes.c_char_p
    return lib


def c_format(width, height, bits, chroma=0):
    return Format(ctypes.sizeof(Format), width, height, chroma, bits, (25, 1), (0, 1))


def c_frame(address, stride):
    frame = CFrame(ctypes.sizeof(CFrame), timestamp=NO_TIMESTAMP)
    frame.planes[0], frame.strides[0] = address, stride
    return frame


def c_run(lib, text, format, **options):
    pipeline, run = ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.millrace_pipeline_create(text.encode(), ctypes.byref(pipeline)) == OK, str(lib.millrace_error()))
    check(lib.millrace_run_create(pipeline, ctypes.byref(run)) == OK, str(lib.millrace_error()))
    lib.millrace_pipeline_free(pipeline)
    for name, value in ({"no-profile": "true"} | options).items():
        lib.millrace_run_set(run, name.encode(), value.encode())
    check(lib.millrace_run_input_frames(run, ctypes.byref(format)) == OK, str(lib.millrace_error()))
    lib.millrace_run_output_frames(run)
    check(lib.millrace_run_start_in_place(run) == OK, str(lib.millrace_error()))
    return run


def onto_themselves(chance, rounds, folder, library):
    """Results that lie over frames, at any distance and with any stride, through the interface in C."""
    lib = opened(library)
    for _ in range(rounds):
        width, height, bits = chance.randrange(1, 90), chance.randrange(1, 60), chance.choice((8, 8, 16, 32))
        each = bits // 8
        text = chance.choice(("blur", "rotate(20)", "gaussian(2) | sobel_x", "flip(both)", "threshold(0.5)"))
        run = c_run(lib, text, c_format(width, height, bits), structure=chance.choice(("sequential", "tiled", "sliding")))
        stride = (width + chance.randrange(9)) * each
        size = stride * height
        memory = ctypes.create_string_buffer(4 * size + 4096)
        at = ctypes.addressof(memory) + size + 1024
        at += -at % 4
        samples = chance.randbytes(size)
        if bits == 32:
            import struct
            samples = b"".join(struct.pack("<f", one / 255) for one in samples[:size // 4])
        ctypes.memmove(at, samples, len(samples))
        apart = ctypes.create_string_buffer(size)
        source = c_frame(at, stride)
        check(lib.millrace_run_process(run, ctypes.byref(source), ctypes.byref(c_frame(ctypes.addressof(apart), stride))) == OK,
              str(lib.millrace_error()))
        over = at + chance.choice((0, 0, each, -each, stride, -stride, 3 * each, chance.randrange(-size // each, size // each) * each))
        check(lib.millrace_run_process(run, ctypes.byref(source), ctypes.byref(c_frame(over, stride))) == OK, str(lib.millrace_error()))
        for row in range(height):
            check(ctypes.string_at(over + row * stride, width * each) == apart.raw[row * stride:row * stride + width * each],
                  f"{text} of {width}x{height}, {bits} bits, {over - at} bytes behind: row {row} is wrong")
        lib.millrace_run_free(run)


def wrong_handles(chance, rounds, folder, library):
    """Handles that are none, were freed or are of another kind, to every function that takes one."""
    lib = opened(library)
    run = c_run(lib, "blur", c_format(16, 8, 8))
    freed = c_run(lib, "blur", c_format(16, 8, 8))
    lib.millrace_run_free(freed)
    place, number = ctypes.c_void_p(), ctypes.c_int()
    text, frame, format = ctypes.c_char_p(), c_frame(None, 16), c_format(16, 8, 8)
    calls = {
        "pipeline_free": (), "pipeline_text": (ctypes.byref(text),), "pipeline_neighbours": (ctypes.byref(number), None),
        "pipeline_needs_color": (ctypes.byref(number),), "pipeline_format": (ctypes.byref(format), None, ctypes.byref(format)),
        "run_create": (ctypes.byref(place),), "run_free": (), "run_set": (b"threads", b"1"), "run_input": (b"x",),
        "run_input_frames": (ctypes.byref(format),), "run_input_frames_like": (None,), "run_output": (b"null",), "run_output_frames": (),
        "run_start": (), "run_start_in_place": (), "run_process": (ctypes.byref(frame), ctypes.byref(frame)),
        "run_output_format": (ctypes.byref(format),), "run_origin": (ctypes.byref(place),), "origin_free": (),
        "run_push": (ctypes.byref(frame), 0), "run_end": (), "run_pull": (ctypes.byref(frame), 0),
        "run_take": (ctypes.byref(frame), ctypes.byref(place), 0), "frame_memory_free": (), "frame_memory_has_data": (ctypes.byref(number),), "run_progress": (None, None), "run_stop": (),
        "run_wait": (0,), "run_report": (ctypes.byref(text),), "run_explanation": (ctypes.byref(text),),
    }
    for name, words in calls.items():
        function = getattr(lib, f"millrace_{name}")
        kinds = [None, freed, ctypes.c_void_p(0xdeadbeef), ctypes.c_void_p(ctypes.addressof(number))]
        kinds += [ctypes.c_void_p(chance.getrandbits(64)) for _ in range(rounds // 20)]
        for handle in kinds + ([] if name.startswith("run_") and name != "run_create" else [run]):
            check(function(handle, *words) == USAGE and lib.millrace_error(), f"millrace_{name} takes {handle}")
    check(lib.millrace_run_free(run) == OK, str(lib.millrace_error()))


def little_memory(chance, rounds, folder, library):
    """Goes on where memory allows; else it is an error of one line. Run within a limit."""
    import millrace as mr
    import numpy as np
    warnings.simplefilter("ignore")
    mr.Pipeline("blur"), mr.open, mr.RunError  # the package loads what it needs when it is needed first
    print("begun", flush=True)
    try:
        made = mr.Pipeline("gaussian(3) | rotate(5)", no_profile=True)(np.zeros((1500, 1500), np.uint8))
        check(made.shape == (1500, 1500), "another size")
        with mr.write(os.path.join(folder, "a.mkv"), like=mr.Format(640, 480), force=True) as target:
            for _ in range(20):
                target.write(np.zeros((480, 640), np.uint8))
        check(len(list(mr.Pipeline("blur").stream("test:640x480@20"))) == 20, "another number of frames")
        print("done", flush=True)
    except (mr.RunError, mr.UsageError) as error:
        check("\n" not in str(error), f"not one line: {error!r}")
    except (MemoryError, ImportError, OSError, RuntimeError):
        pass  # of Python, NumPy, or whoever makes threads


def works_for_long(chance, rounds, folder, library):
    """To be interrupted: one of several kinds of work, by the seed."""
    import millrace as mr
    import numpy as np
    warnings.simplefilter("ignore")

    @mr.filter
    def slow(x):
        return mr.fold(4096, x, lambda so_far, i: mr.sqrt(so_far))

    kind = chance.randrange(6)
    path = os.path.join(folder, "a.mkv")
    print("on", flush=True)
    if kind == 0:
        mr.Pipeline("slow", filters=[slow], no_profile=True)(np.zeros((20000, 20000), np.uint8))
    elif kind == 1:
        mr.Pipeline("gaussian(3)")(np.broadcast_to(np.zeros((64, 64), np.uint8), (10**6, 64, 64)))
    elif kind == 2:
        for _ in mr.Pipeline("@A").stream("test:640x480@100000000"):
            pass
    elif kind == 3:
        with mr.write(path, like=mr.Format(320, 240), force=True) as target:
            while True:
                target.write(np.zeros((240, 320), np.uint8))
    elif kind == 4:
        mr.run("blur", "test:640x480@100000000", path, force=True)
    else:
        with mr.open("test:320x240@100000000") as video, mr.write(path, like=video, force=True) as target:
            for frame in video:
                target.write(frame)


# ---- The attacks

def odd_arrays(place):
    place.holds(arrays)


def odd_floats(place):
    place.holds(floats)


def exceptions(place):
    place.holds(frames_in_loops)


def odd_times(place):
    place.holds(stamps)


def damaged_files(place):
    place.holds(broken_files)


def threads(place):
    place.holds(many_threads)


def in_is_out(place):
    place.holds(onto_themselves)


def no_handles(place):
    place.holds(wrong_handles)


def interrupts(place):
    chance = random.Random(place.seed)
    for number in range(max(6, place.rounds // 20)):
        place.seed = number
        # A shell starts background programs with the signal ignored.
        process = place.start(works_for_long, before=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        if process.stdout.readline() != "on\n":
            raise Held(f"work {number} does not begin: {place.ends(process, 'work')[2][-400:]}")
        time.sleep(chance.random() * 0.8)  # at any moment
        process.send_signal(signal.SIGINT)
        _, _, wrong = place.ends(process, f"work {number} that is interrupted", HEEDED)
        check("KeyboardInterrupt" in wrong, f"work {number}: no KeyboardInterrupt: {wrong[-400:]}")
        file = pathlib.Path(place.folder, "a.mkv")
        if file.exists():
            asked = subprocess.run(["ffmpeg", "-v", "error", "-i", str(file), "-f", "null", "-"], capture_output=True, text=True)
            check(asked.returncode == 0 and not asked.stderr, f"work {number} leaves a broken file: {asked.stderr[-300:]}")
            file.unlink()


def few_addresses(place):
    def within(most):
        process = place.start(little_memory, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
        return place.ends(process, f"{most >> 20} MiB of addresses")

    for most in too_few_addresses(lambda amount: "begun" in within(amount)[1], 40):
        code, said, wrong = within(most)
        check(code == 0 or "begun" not in said, f"{most >> 20} MiB of addresses: {wrong[-500:]}")
    for most in range(300 << 20, 1500 << 20, 60 << 20):
        code, said, wrong = within(most)
        check(code == 0 or "begun" not in said, f"{most >> 20} MiB of addresses: {wrong[-500:]}")


ATTACKS = (odd_arrays, odd_floats, odd_times, exceptions, damaged_files, threads, in_is_out, no_handles, interrupts, few_addresses)
CHILDREN = {child.__name__: child for child in (arrays, floats, frames_in_loops, stamps, broken_files, many_threads, onto_themselves,
                                                wrong_handles, little_memory, works_for_long)}


def main():
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]).split("\n\n")[0])
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    words = parser.parse_args()
    library = os.path.abspath(words.library)
    if words.child:
        try:
            CHILDREN[words.child](random.Random(words.seed), words.rounds, os.getcwd(), library)
        except Held as error:
            sys.exit(f"NOT HELD: {error}")
        return 0
    return run_attacks(ATTACKS, words.only, lambda: Place(library, words.rounds, words.seed))


if __name__ == "__main__":
    sys.exit(main())
