"""Installs the build, moves the prefix, and uses the result: programs, libraries, headers, packages.

usage: install_test.py CMAKE BUILD SOURCES
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent import futures

CMAKE, BUILD, SOURCES = sys.argv[1:4]
CONSUMERS = pathlib.Path(__file__).parent / "consumers"
SQUARES = "0.1.0: 332833500, 3 stages, between 0.2 s and 1.2 s: yes\n"
# Headers that users need not have.
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]+[>"])', re.MULTILINE)
FOREIGN = re.compile(r'#\s*include\s*[<"](nlohmann|Halide|libav|libsw|hwloc|tbb|oneapi|toml)', re.IGNORECASE)


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout.decode()}\n{done.stderr.decode()}")
    return done.stdout


def exported(library):
    """Exported names of a library, demangled, without version nodes."""
    names = run("nm", "--dynamic", "--defined-only", "--without-symbol-versions", "--demangle", library).decode()
    return [line.split(" ", 2)[2] for line in names.splitlines() if " A " not in line]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run(CMAKE, "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "second"
        (cls.folder / "first").rename(cls.prefix)
        cls.lib = next(cls.prefix.glob("lib*/**/libmillrace_stream.so")).parent
        home = {"HOME": str(cls.folder), "XDG_CACHE_HOME": str(cls.folder / "cache")}
        cls.bare = {"PATH": os.environ["PATH"]} | home
        cls.environment = cls.bare | {
            "LD_LIBRARY_PATH": str(cls.lib), "PKG_CONFIG_PATH": str(cls.lib / "pkgconfig")}

    def test_two_copies_of_the_library_in_one_process_do_not_take_each_others_handles(self):
        shutil.copy(self.lib / "libmillrace.so.0", self.folder / "libother.so")
        program = """
import ctypes, sys
libraries = [ctypes.CDLL(name) for name in sys.argv[1:]]
made = [ctypes.c_void_p() for _ in libraries]
for library, pipeline in zip(libraries, made):
    library.millrace_error.restype = ctypes.c_char_p
    assert library.millrace_pipeline_create(b"blur | rotate(3)", ctypes.byref(pipeline)) == 0
for library, foreign in zip(libraries, reversed(made)):
    assert library.millrace_pipeline_free(foreign) == 2
    assert b"belongs to another library" in library.millrace_error(), library.millrace_error()
for library, pipeline in zip(libraries, made):
    run = ctypes.c_void_p()
    assert library.millrace_run_create(pipeline, ctypes.byref(run)) == 0
    assert library.millrace_run_input(run, b"test:64x48@5") == 0
    assert library.millrace_run_start(run) == 0 and library.millrace_run_wait(run, -1) == 0, library.millrace_error()
    assert library.millrace_run_free(run) == 0 and library.millrace_pipeline_free(pipeline) == 0
print("done")
"""
        printed = run(sys.executable, "-c", program, self.lib / "libmillrace.so.0", self.folder / "libother.so",
                      env=self.environment)
        self.assertEqual(printed, b"done\n")

    def test_libraries_of_two_versions_in_one_process_are_each_called_by_those_built_against_them(self):
        folder = self.folder / "versions"
        folder.mkdir()
        (folder / "later.map").write_text('MILLRACE_1 { global: millrace_*; extern "C++" { millrace::*; }; local: *; };\n')
        (folder / "main.c").write_text("#include <stdio.h>\nconst char* ours(void);\nconst char* later(void);\n"
                                       'int main(void) { return printf("%s %s\\n", ours(), later()) < 0; }\n')
        for suffix, module, header, stub, call in (
                ("c", "millrace", "millrace.h", 'const char* millrace_version(void) { return "later"; }',
                 "const char* WHOSE(void) { return millrace_version(); }"),
                ("cpp", "millrace-stream", "millrace/model/pipeline/pipeline_text.h",
                 "millrace::Result<millrace::model::Pipeline> millrace::model::parse_pipeline_text(std::string_view)"
                 ' { return failure("later"); }',
                 'extern "C" const char* WHOSE() { return millrace::model::parse_pipeline_text("a serial 1ms; b 1ms")'
                 ' ? "0.1.0" : "later"; }')):
            compiler = ("cc", "-std=c11") if suffix == "c" else ("c++", "-std=c++23")
            told = run("pkg-config", "--cflags", "--libs", module, env=self.environment).decode().split()
            include = f'#include <{header}>\n'
            (folder / f"stub.{suffix}").write_text(include + stub + "\n")
            (folder / f"asks.{suffix}").write_text(include + call + "\n")
            name = f"lib{module.replace('-', '_')}.so"
            shared = *compiler, "-shared", "-fPIC"
            run(*shared, folder / f"stub.{suffix}", "-I", self.prefix / "include", "-o", folder / f"{name}.1", "-lfmt",
                f"-Wl,-soname,{name}.1", f"-Wl,--version-script={folder}/later.map", env=self.bare)
            for whose, library in (("ours", told), ("later", [f"-I{self.prefix}/include", folder / f"{name}.1", "-lfmt"])):
                run(*shared, f"-DWHOSE={whose}", folder / f"asks.{suffix}", "-o", folder / f"lib{whose}.so", *library, env=self.bare)
            for order in ("-lours", "-llater"), ("-llater", "-lours"):
                with self.subTest(library=name, order=order):
                    both = f"{folder}:{self.lib}"
                    run("cc", folder / "main.c", "-o", folder / "main", "-L", folder, *order, f"-Wl,-rpath-link,{both}",
                        env=self.bare)
                    self.assertEqual(run(folder / "main", env=self.bare | {"LD_LIBRARY_PATH": both}), b"0.1.0 later\n")

    def test_the_programs_work_from_a_prefix_that_was_moved(self):
        words = self.prefix / "bin/millrace", "run", "@A", "test:96x64@4", "--no-profile", "--structure", "tiled"
        report = self.folder / "report.json"
        # Measured runs wait for their kernels. A foreign libHalide must not interfere.
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "libHalide.so").write_text("no library")
        run(*words, "--fusion", "all", "--measure", "--repeat", "1", "--json", report,
            env=self.bare | {"LD_LIBRARY_PATH": str(foreign)})
        done = json.loads(report.read_text())
        self.assertNotIn("kernel_error", done)
        self.assertGreater(done["compile_seconds"], 0, "the kernel compiler was not started")
        self.assertTrue(run(*words, "-o", "-", env=self.bare).startswith(b"YUV4MPEG2 W96 H64"))
        self.assertIn(b"millrace", run(self.prefix / "bin/millrace", "exec", "--help", env=self.bare))
        coded = self.folder / "coded.mkv"  # by the shared object that calls FFmpeg
        run(*words, "-o", coded, env=self.bare)
        self.assertTrue(run(self.prefix / "bin/millrace", "run", "crop(1)", coded, "-o", "-", "--no-profile",
                            env=self.bare).startswith(b"YUV4MPEG2 W96 H64"))
        for program in self.prefix.glob("bin/millrace-*"):
            self.assertIn(b"0.1.0", run(program, "--version", env=self.bare))

    def test_manual_pages_and_completions_are_of_what_the_programs_say(self):
        page = (self.prefix / "share/man/man1/millrace-run.1").read_text()
        self.assertIn(r".B \-\-threads", page)
        self.assertIn(r"pipeline language", page)
        self.assertIn(r"\-o, \-\-output FILE", page)
        self.assertTrue((self.prefix / "share/man/man1/millrace.1").exists())
        self.assertIn("#compdef millrace", (self.prefix / "share/zsh/site-functions/_millrace").read_text())
        self.assertIn("complete -c millrace", (self.prefix / "share/fish/vendor_completions.d/millrace.fish").read_text())
        completions = self.prefix / "share/bash-completion/completions/millrace"
        for typed, found in (("millrace ru", "run"), ("millrace run --thr", "--threads"), ("millrace exec --pol", "--policy")):
            words = typed.split()
            done = run("bash", "-c", f'. "$0"; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _millrace; '
                       'echo "${COMPREPLY[*]}"', completions, env=self.bare)
            self.assertEqual(done.decode().split(), [found], typed)

    def test_units_of_systemd_start_the_program_from_where_it_was_installed(self):
        units = self.prefix / "lib/systemd"
        for place in "system", "user":
            self.assertIn(f"ExecStart={self.folder}/first/bin/millrace daemon",
                          (units / place / "millrace-daemon.service").read_text())
        if shutil.which("systemd-analyze") is None:
            self.skipTest("there is no systemd-analyze")
        (self.folder / "first").symlink_to(self.prefix)
        self.addCleanup((self.folder / "first").unlink)
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700)
        for place in "system", "user":
            done = subprocess.run(["systemd-analyze", f"--{place}", "--man=no", "verify", *(units / place).iterdir()],
                                  capture_output=True, text=True, env=self.bare | {"XDG_RUNTIME_DIR": str(runtime)})
            self.assertEqual((done.returncode, done.stderr), (0, ""), place)

    def test_nothing_installed_knows_the_place_where_it_was_built(self):
        places = [str(place).encode() for place in {BUILD, SOURCES, self.folder / "first"}]
        for path in self.prefix.rglob("*"):
            if path.is_file() and "libHalide" not in path.name and path.suffix != ".service":
                content = path.read_bytes()
                for place in places:
                    self.assertNotIn(place, content, f"{path} names {place}")

    def test_the_headers_lead_to_nothing_that_is_not_installed_or_foreign(self):
        include = self.prefix / "include"
        headers = [path for path in include.rglob("*.h")]
        self.assertGreater(len(headers), 20)
        for header in headers:
            text = header.read_text()
            self.assertIsNone(FOREIGN.search(text), header)
            for name in re.findall(r'#\s*include\s*"([^"]+)"', text):
                self.assertTrue((include / name).exists(), f"{header} includes {name}")

    def test_each_header_compiles_alone(self):
        # scripts/lint has checked that the first include of each source compiles on its own.
        first = {found[1][1:-1] for source in pathlib.Path(SOURCES, "src/millrace").rglob("*.cpp")
                 if (found := INCLUDE.search(source.read_text()))}
        include = self.prefix / "include"
        headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        in_c = [name for name in headers if "/" not in name] + ["millrace/version.h", "millrace/base/error/export.h"]
        self.assertIn("millrace.h", in_c)
        strict = "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only", "-I", include
        calls = [("cc", "-std=c11", *strict, "-x", "c", "-include", name) for name in in_c]
        calls += [("c++", "-std=c++23", *strict, "-x", "c++", "-include", name) for name in headers
                  if name not in first or name in in_c]
        with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda call: run(*call, "/dev/null", env=self.bare), calls))

    def test_the_library_of_streams_needs_neither_ffmpeg_nor_halide(self):
        needed = run("ldd", self.lib / "libmillrace_stream.so.0", env=self.bare).decode()
        self.assertIn("libhwloc", needed)
        self.assertNotRegex(needed, "not found|libav|libsw|Halide")

    def test_the_libraries_show_what_is_marked_and_nothing_else(self):
        names = exported(self.lib / "libmillrace_stream.so")
        self.assertTrue(any(name.startswith("millrace::stream::Stream::run(") for name in names))
        own = re.compile(r"(typeinfo for |typeinfo name for |vtable for |non-virtual thunk to )?millrace::")
        for name in names:
            self.assertRegex(name, own)
            self.assertNotRegex(name, r"millrace::(stream::(Engine|TokenStore|WorkDeque)|OutputFile|model::simulate)")

    def test_the_library_in_c_shows_the_functions_of_its_header_alone(self):
        header = (self.prefix / "include/millrace.h").read_text()
        named = re.findall(r"MILLRACE_EXPORT [^;(]*?\b(millrace_\w+)\(", header)
        self.assertGreater(len(named), 20)
        self.assertEqual(exported(self.lib / "libmillrace.so"), sorted(named))

    def test_the_interface_in_c_is_the_one_that_programs_were_built_against(self):
        run(f"{SOURCES}/scripts/abi_baseline")
        header = pathlib.Path(SOURCES, "src/millrace/api/millrace.h").read_text()
        for was, now, told in (("int32_t bits;", "int64_t bits;", "offset changed"), ("MILLRACE_END = 4", "MILLRACE_END = 6", "6"),
                               ("millrace_run_stop(millrace_run* run)", "millrace_run_stop(millrace_run* run, int how)", "added")):
            self.assertIn(was, header)
            changed = self.folder / "changed.h"
            changed.write_text(header.replace(was, now))
            done = subprocess.run([f"{SOURCES}/scripts/abi_baseline", "check", changed], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(told, done.stdout)

    def compiled(self, name, compiler, *flags):
        """Build a program with the flags of pkg-config."""
        program = self.folder / name
        module = "millrace-stream" if compiler == "c++" else "millrace"
        told = run("pkg-config", "--cflags", "--libs", module, env=self.environment).decode().split()
        self.assertIn(f"-I{self.prefix}/include", [os.path.normpath(word) if word[0] != "-" else
                                                  "-I" + os.path.normpath(word[2:]) for word in told])
        source = next(CONSUMERS.glob(f"{name}.c*"))
        run(compiler, *flags, "-Wall", "-Wextra", "-Werror", source, "-o", program, *told, env=self.bare)
        return program

    def test_a_program_in_cpp_is_built_by_pkg_config(self):
        program = self.compiled("team", "c++", "-std=c++23")
        self.assertEqual(run(program, env=self.environment), b"332833500\n")

    def test_a_program_in_c_makes_of_frames_what_the_program_makes_of_them(self):
        program = self.compiled("edges", "cc", "-std=c11", "-pedantic")
        words = "blur | [sobel_x, sobel_y] | magnitude", "test:70x50@5,gray"
        millrace = self.prefix / "bin/millrace"
        source = run(millrace, "run", "crop(1)", words[1], "-o", "-", "--no-profile", env=self.bare)
        expected = run(millrace, "run", *words, "-o", "-", "--no-profile", env=self.bare)
        frames = [b"".join(part.split(b"\n", 1)[1] for part in whole.split(b"FRAME")[1:])
                  for whole in (source, expected)]
        self.assertEqual([len(part) for part in frames], [5 * 70 * 50] * 2)
        done = subprocess.run([program, words[0], "70", "50"], input=frames[0], capture_output=True,
                              env=self.environment, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, frames[1])
        self.assertIn(b"candidates", done.stderr)

    def test_kernels_are_compiled_for_a_program_of_the_users(self):
        # Not a built-in kernel because it is fused, so the library must find its compiler relative to itself.
        source = (CONSUMERS / "edges.c").read_text().replace(
            "millrace_run_output_frames(run) != MILLRACE_OK",
            'millrace_run_output_frames(run) != MILLRACE_OK || millrace_run_set(run, "structure", "tiled") != 0 || '
            'millrace_run_set(run, "fusion", "all") != 0', 1).replace("millrace_run_explanation", "millrace_run_report")
        folder = self.folder / "fused"
        folder.mkdir()
        (folder / "fused.c").write_text(source)
        told = run("pkg-config", "--cflags", "--libs", "millrace", env=self.environment).decode().split()
        run("cc", folder / "fused.c", "-o", folder / "fused", *told, env=self.bare)
        kernels = self.folder / "cache/millrace/kernels"
        with open(folder / "report.json", "wb") as report:
            program = subprocess.Popen([folder / "fused", "blur | sobel_x", "64", "48"], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=report, env=self.environment)
        # Filter frames until the kernel is compiled and cached.
        give_up = time.monotonic() + 120
        while not any(kernels.glob("*")) and time.monotonic() < give_up:
            program.stdin.write(bytes(64 * 48))
            program.stdin.flush()
            time.sleep(0.02)
        program.stdin.close()
        self.assertEqual(program.wait(timeout=60), 0, (folder / "report.json").read_text())
        done = json.loads((folder / "report.json").read_text())
        self.assertNotIn("kernel_error", done)
        self.assertTrue(any(kernels.glob("*")), done)

    def test_a_project_finds_the_package(self):
        build = self.folder / "found"
        run(CMAKE, "-S", CONSUMERS, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.bare)
        run(CMAKE, "--build", build, env=self.bare)
        self.assertEqual(run(build / "squares", env=self.bare).decode(), SQUARES)
        self.assertEqual(len(run(build / "edges", "blur", "8", "8", input=bytes(128), env=self.bare)), 128)
        self.assertEqual(run(build / "placed", env=self.bare), b"bound\n")
        run(self.prefix / "bin/millrace", "exec", "--policy", build / "policy.so", "--", "true", env=self.bare)

    def test_a_component_that_is_not_there_is_named(self):
        project = self.folder / "lacking"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(lacking LANGUAGES CXX)\n"
            "find_package(millrace REQUIRED COMPONENTS stream sorcery)\n")
        done = subprocess.run([CMAKE, "-S", project, "-B", project / "build", "-G", "Ninja",
                               f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, env=self.bare)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"sorcery", done.stderr)

    def test_as_a_part_of_another_project_only_libraries_are_built_and_warnings_are_no_errors(self):
        build = self.folder / "part"
        run(CMAKE, "-S", CONSUMERS / "subproject", "-B", build, "-G", "Ninja", f"-DMILLRACE={SOURCES}",
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", env=self.bare)
        made = run("ninja", "-C", build, "-t", "targets", "all").decode()
        self.assertIn("libmillrace_stream.so", made)
        self.assertNotRegex(made, r"(?m)_test\b|gtest|^bin/|millrace-verbs|benchmark")
        commands = json.loads((build / "compile_commands.json").read_text())
        self.assertFalse([one["file"] for one in commands if "-Werror" in one["command"]])
        self.assertFalse([one["file"] for one in commands if one["file"].endswith("_test.cpp")])
        # Compiling the stream library takes minutes, so the C library of dispatch represents it.
        shutil.rmtree(build)
        run(CMAKE, "-S", CONSUMERS / "subproject", "-B", build, "-G", "Ninja", f"-DMILLRACE={SOURCES}",
            "-DMILLRACE_MODULES=dispatch", env=self.bare)
        run(CMAKE, "--build", build, env=self.bare)
        self.assertEqual(run(build / "placed", env=self.bare), b"bound\n")


if __name__ == "__main__":
    if shutil.which("pkg-config") is None:
        sys.exit("install_test: pkg-config is missing; scripts/setup installs it")
    unittest.main(argv=sys.argv[:1])
