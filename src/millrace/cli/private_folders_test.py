"""Folders for caches, state and settings: other users cannot redirect them, and common setups work.

usage: private_folders_test.py MILLRACE

Needs root, to act as two users.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "millrace")
NOBODY = 65534
VERBS = {
    "exec": ["exec", "--", "true"],
    "profiles": ["profiles", "list"],
    "run": ["run", "blur", "test:32x32@3", "-o", "null"],
    "machine": ["machine"],
}


def state_of(folder):
    """Everything an intruder could change, apart from times."""
    status = os.lstat(folder)
    return [(str(path), entry.st_mode, entry.st_uid, entry.st_size) for path in sorted(folder.rglob("*"))
            for entry in [os.lstat(path)]] + [(status.st_mode, status.st_uid)]


def given_to(user, *paths):
    for path in paths:
        os.chown(path, user, user, follow_symlinks=False)


def home_of_another(home, victim):
    given_to(NOBODY, home)


def cache_link_of_another(home, victim):
    (home / ".cache").mkdir()
    (home / ".cache/millrace").symlink_to(victim)
    given_to(NOBODY, home, home / ".cache", home / ".cache/millrace")


def link_above_of_another(home, victim):
    (home / ".cache").symlink_to(victim)
    (home / ".config").symlink_to(victim)
    given_to(NOBODY, home / ".cache", home / ".config")


def cache_that_others_may_write(home, victim):
    (home / ".cache").mkdir()
    (home / ".cache").chmod(0o777)
    (home / ".cache/millrace").symlink_to(victim)


def settings_of_another(home, victim):
    (home / ".config/millrace/units").mkdir(parents=True)
    (home / ".config/millrace/units/a.toml").write_text("nonsense")
    given_to(NOBODY, home, *[path for path in home.rglob("*")])


HOSTILE = [home_of_another, cache_link_of_another, link_above_of_another, cache_that_others_may_write, settings_of_another]


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root, to be two users")
class PrivateFolders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.victim = self.folder / "victim"
        for path in (self.home, self.victim):
            path.mkdir()
            path.chmod(0o755)
        (self.victim / "file").write_text("x")

    def run_verb(self, verb, user=None, group=None, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_") and name != "HOME"}
        environment |= {name: str(value) for name, value in variables.items()}
        return subprocess.run([MILLRACE, *VERBS[verb]], env=environment, capture_output=True, text=True, timeout=120, user=user,
                              group=user if group is None else group, extra_groups=[], cwd="/")

    def test_root_changes_nothing_of_anothers_choosing_and_says_so_in_one_line(self):
        for shape in HOSTILE:
            for verb in VERBS:
                with self.subTest(shape=shape.__name__, verb=verb):
                    shutil.rmtree(self.home)
                    self.home.mkdir()
                    shape(self.home, self.victim)
                    before = state_of(self.folder)
                    done = self.run_verb(verb, HOME=self.home)
                    self.assertEqual(state_of(self.folder), before)
                    self.assertEqual(done.returncode, 1 if verb == "profiles" else 0, done.stderr)
                    told = [line for line in done.stderr.splitlines() if "belongs to user" in line or "link of user" in line
                            or "others may write" in line]
                    settings_only = verb == "machine" and shape in (cache_that_others_may_write,)
                    self.assertEqual(len(told), 0 if settings_only else 1, done.stderr)

    def test_a_runtime_folder_of_another_is_left_alone(self):
        runtime = self.folder / "runtime"
        runtime.mkdir(0o700)
        (runtime / "millrace").symlink_to(self.victim)
        given_to(NOBODY, runtime, runtime / "millrace")
        before = state_of(self.folder)
        done = self.run_verb("exec", HOME="/nonexistent", XDG_RUNTIME_DIR=runtime)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(state_of(self.folder), before)

    def test_the_daemon_takes_no_settings_of_another(self):
        config = self.folder / "config"
        (config / "millrace").mkdir(parents=True)
        (config / "millrace/daemon.toml").write_text("act = true\n")
        given_to(NOBODY, config, config / "millrace")
        daemon = subprocess.Popen([MILLRACE, "daemon", "--user", "--socket", self.folder / "s"], stderr=subprocess.PIPE, text=True,
                                  env=os.environ | {"XDG_CONFIG_HOME": str(config)})
        try:
            told = daemon.communicate(timeout=60)[1]
        finally:
            daemon.send_signal(signal.SIGKILL)
        self.assertEqual(daemon.returncode, 2)
        self.assertIn("belongs to user 65534", told)
        self.assertIn("--config", told)

    def test_a_container_s_arbitrary_user_of_group_0_goes_without_a_cache_or_names_one(self):
        self.home.chmod(0o770)  # of root's group, as images prepare it
        cache = self.folder / "cache"
        self.folder.chmod(0o1777)
        for home in "/", self.home:
            for verb in VERBS:
                with self.subTest(home=home, verb=verb):
                    before = state_of(self.home)
                    done = self.run_verb(verb, user=1234567890, group=0, HOME=home)
                    self.assertEqual(done.returncode, 1 if verb == "profiles" else 0, done.stderr)
                    self.assertLessEqual(done.stderr.count("XDG_C"), 1, done.stderr)
                    self.assertEqual(state_of(self.home), before)
                    told = self.run_verb(verb, user=1234567890, group=0, HOME=home, XDG_CACHE_HOME=cache)
                    self.assertEqual((told.returncode, told.stderr.count("XDG_CACHE_HOME")), (0, 0), told.stderr)
        self.assertEqual(cache.stat().st_mode & 0o777, 0o700)

    def test_what_people_set_up_is_used(self):
        disk = self.folder / "disk"
        cache = self.folder / "elsewhere"
        (self.home / ".config").mkdir()
        for path in (disk, cache):
            path.mkdir()
        (self.home / ".cache").symlink_to(disk)
        given_to(NOBODY, self.home, disk, cache, self.home / ".cache", self.home / ".config")
        for variables, made in (({"HOME": self.home}, disk / "millrace"),
                                ({"HOME": self.home, "XDG_CACHE_HOME": cache}, cache / "millrace")):
            done = self.run_verb("profiles", user=NOBODY, **variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(made.stat().st_mode & 0o777, 0o700)
        for variables in ({}, {"HOME": "/nonexistent"}):
            done = self.run_verb("run", user=NOBODY, **variables)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.home.chmod(0o555)
        (self.home / ".cache").unlink()
        done = self.run_verb("run", user=NOBODY, HOME=self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("it cannot be created"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
