#include "millrace/base/file/system_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

class JournalTest : public testing::Test {
 protected:
  TemporaryFolder own_;
  std::filesystem::path folder_ = own_.path();
  [[nodiscard]] StateFolder folder() const { return std::move(StateFolder::open(folder_).value()); }
  [[nodiscard]] Result<Journal> begin() const { return Journal::begin(folder()); }
  // A journal of a run that has ended: its lock is free.
  void leave_journal(const std::string& content, const std::string& name = "0123456789abcdef.journal") const {
    struct stat status{};
    ASSERT_EQ(stat("/proc/self/ns/pid", &status), 0);
    std::ofstream(folder_ / name) << "namespace " << status.st_ino << ";\n" << content;
  }
};

std::filesystem::path path_of(const Journal& journal) { return journal.folder().path() / journal.name(); }

const Original original{{0, 1, 5}, machine::SchedulingClass::other, -3, 0, 0};
const Original special{{}, machine::SchedulingClass::rr, 0, 7, 0};
constexpr ProcessId process{123, 456};

TEST_F(JournalTest, IsReadBackAsItWasWritten) {
  auto journal = begin();
  ASSERT_TRUE(journal) << journal.error().message;
  ASSERT_TRUE(journal->add_process(process, original));
  ASSERT_TRUE(journal->add_process({9, 9}, special));
  ASSERT_TRUE(journal->add_thread(process, 125, special));
  Original any = original;
  any.any_cpu = true;
  ASSERT_TRUE(journal->add_thread(process, 124, any));
  ASSERT_TRUE(journal->leave_alone(process, 126, {}));
  ASSERT_TRUE(journal->leave_alone(process, 127, {.mask = {3}}));
  ASSERT_TRUE(journal->leave_alone(process, 128, {{0, 1}, machine::SchedulingClass::batch, 20}));
  ASSERT_TRUE(journal->add_mask({3}));
  ASSERT_TRUE(journal->add_attributes({machine::SchedulingClass::batch, 20}));
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), journal->content());
}

// Otherwise the masks of such a process would not be restored.
TEST_F(JournalTest, ProcessesOfEveryClassAreReadBack) {
  auto journal = begin();
  ASSERT_TRUE(journal) << journal.error().message;
  pid_t number = 1;
  for (const auto scheduling_class :
       {machine::SchedulingClass::other, machine::SchedulingClass::batch, machine::SchedulingClass::idle,
        machine::SchedulingClass::fifo, machine::SchedulingClass::rr, machine::SchedulingClass::deadline,
        machine::SchedulingClass::unknown}) {
    const ProcessId id{++number, 456};
    ASSERT_TRUE(journal->add_process(id, {.mask = {1}, .scheduling_class = scheduling_class}));
    ASSERT_TRUE(journal->add_thread(id, 1000, {.mask = {2}, .scheduling_class = scheduling_class}));
  }
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), journal->content());
}

TEST_F(JournalTest, HasNoFileUntilItGetsItsName) {
  folder_ = own_.path() / "millrace";
  auto journal = Journal::begin_unnamed(folder());
  ASSERT_TRUE(journal) << journal.error().message;
  ASSERT_TRUE(journal->add_process(process, original));
  ASSERT_TRUE(journal->add_mask({3}));
  EXPECT_TRUE(std::filesystem::is_empty(own_.path()));
  EXPECT_FALSE(journal->is_lost());
  ASSERT_TRUE(journal->forget_ended());
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(journal->open_folder());
    EXPECT_TRUE(journal->give_name().value());
    ASSERT_TRUE(journal->add_mask({5}));
    EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), journal->content());
  }
  EXPECT_EQ(restore_left_behind(folder()).threads, 0);
  EXPECT_TRUE(std::filesystem::exists(path_of(*journal))) << "it is locked";
  std::filesystem::remove(path_of(*journal));
  EXPECT_TRUE(journal->is_lost());
}

TEST_F(JournalTest, GetsItsNameInAFolderThatWasRemovedMeanwhile) {
  folder_ = own_.path() / "millrace";
  auto journal = Journal::begin_unnamed(folder());
  ASSERT_TRUE(journal) << journal.error().message;
  ASSERT_TRUE(journal->add_process({getpid(), read_task_stat(getpid(), getpid())->start_time}, original));
  ASSERT_TRUE(journal->open_folder());
  std::filesystem::remove(folder_);
  EXPECT_FALSE(journal->give_name().value());
  ASSERT_TRUE(journal->open_folder());
  EXPECT_TRUE(journal->give_name().value());
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), journal->content());
}

// The folder is a mount of its own, so the lines are written again.
TEST_F(JournalTest, GetsItsNameInAFolderOnAnotherFileSystemThanItsParent) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may mount";
  folder_ = own_.path() / "millrace";
  std::filesystem::create_directory(folder_);
  constexpr int not_permitted = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("millrace-test", folder_.c_str(), "tmpfs", 0, "mode=0700") != 0)
      _exit(not_permitted);
    auto journal = Journal::begin_unnamed(folder());
    const ProcessId self{getpid(), read_task_stat(getpid(), getpid())->start_time};
    if (!journal || !journal->add_process(self, original) || !journal->add_mask({3})) _exit(1);
    if (!journal->open_folder() || !journal->give_name().value_or(false)) _exit(2);
    if (!journal->add_mask({5})) _exit(3);
    const JournalContent written = parse_journal(*read_system_file(path_of(*journal).string()));
    const bool whole = written == journal->content() && written.processes.contains(self) &&
                       written.masks == std::set<std::string>{"3", "5"};
    if (!whole) _exit(4);
    if (restore_left_behind(journal->folder()).failed != 0 || journal->is_lost()) _exit(5);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_permitted) GTEST_SKIP() << "mounting is not permitted";
  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

TEST_F(JournalTest, ForgetsThoseThatHaveEnded) {
  auto journal = begin();
  ASSERT_TRUE(journal);
  const auto own = read_task_stat(getpid(), getpid());
  ASSERT_TRUE(own);
  const ProcessId living{getpid(), own->start_time};
  const ProcessId reused{getpid(), own->start_time + 1};
  ASSERT_TRUE(journal->add_mask({3}));
  for (const ProcessId& id : {living, reused, process}) {
    ASSERT_TRUE(journal->add_process(id, original));
    ASSERT_TRUE(journal->leave_alone(id, getpid(), {.mask = {3}}));
    ASSERT_TRUE(journal->add_thread(id, 0x7ffffff0, special));
  }
  const std::string before = journal->name();
  ASSERT_TRUE(journal->forget_ended());
  EXPECT_NE(journal->name(), before);
  EXPECT_FALSE(std::filesystem::exists(folder_ / before));
  JournalContent expected{
      .pid_namespace = journal->content().pid_namespace,
      .processes = {{living, {.original = original, .left_alone = {{getpid(), {.mask = {3}}}}}}},
      .masks = {"3"}};
  EXPECT_EQ(journal->content(), expected);
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), expected);
  ASSERT_TRUE(journal->add_mask({4}));  // the journal continues in the new file
  expected.masks.insert("4");
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), expected);
}

// Whatever others do to the folder before or after.
TEST_F(JournalTest, IsGoneWithItsRunAlsoWhereTheFolderWasMadeAnewBeforeItForgot) {
  for (const bool anew_after : {false, true}) {
    const std::filesystem::path path = folder_ / "state";
    std::filesystem::path now;
    {
      auto journal = Journal::begin(std::move(StateFolder::open(path).value()));
      ASSERT_TRUE(journal);
      std::filesystem::remove_all(path);
      std::filesystem::create_directory(path);
      ASSERT_TRUE(journal->forget_ended());
      now = path_of(*journal);
      EXPECT_TRUE(std::filesystem::exists(now));
      EXPECT_FALSE(journal->is_lost());
      ASSERT_TRUE(journal->add_mask({3}));
      ASSERT_TRUE(journal->forget_ended());
      EXPECT_FALSE(std::filesystem::exists(now));
      now = path_of(*journal);
      if (anew_after) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directory(path);
        ASSERT_TRUE(journal->forget_ended());
        now = path_of(*journal);
      }
    }
    EXPECT_FALSE(std::filesystem::exists(now));
    EXPECT_FALSE(std::filesystem::exists(path)) << "an empty folder goes too";
  }
}

TEST_F(JournalTest, CutAtAnyPlaceGivesWhatWasWhole) {
  auto journal = begin();
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->add_process(process, original));
  ASSERT_TRUE(journal->add_mask({3}));
  ASSERT_TRUE(journal->leave_alone(process, 126, {}));
  const std::string text = *read_system_file(path_of(*journal).string());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const JournalContent content = parse_journal(std::string_view(text).substr(0, size));
    for (const auto& [id, found] : content.processes) {
      EXPECT_EQ(id, process);
      EXPECT_EQ(found.original, original);
    }
  }
}

TEST_F(JournalTest, IsGoneWithItsRun) {
  std::filesystem::path path;
  {
    auto journal = begin();
    ASSERT_TRUE(journal);
    path = path_of(*journal);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A process that sleeps until it is killed.
class Sleeper {
 public:
  Sleeper() : number_(fork()) {
    if (number_ == 0)
      while (true)
        pause();
  }
  ~Sleeper() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] pid_t number() const { return number_; }
  [[nodiscard]] ProcessId id() const { return {number_, read_task_stat(number_, number_)->start_time}; }

 private:
  pid_t number_;
};

TEST_F(JournalTest, NextStartRestoresWhatAKilledRunHasLeft) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  const CpuSet one = before->mask.first(1);
  leave_journal(fmt::format("process {} {} {} {} 0 0 0;\nmask {};\nattributes batch 0;\n", sleeper.number(),
                            sleeper.id().start_time, before->mask.to_string(),
                            machine::name_of(before->scheduling_class), one.to_string()));
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  const bool fair = before->scheduling_class == machine::SchedulingClass::other;
  if (fair) {
    ASSERT_TRUE(
        machine::change_scheduling(sleeper.number(), {.scheduling_class = machine::SchedulingClass::batch}));
  }
  const Restored restored = restore_left_behind(folder());
  EXPECT_EQ(restored.failed, 0);
  EXPECT_EQ(read_original(sleeper.number()), *before);
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "an empty folder goes too";
}

TEST_F(JournalTest, RunsThatGoOnAreNotDisturbed) {
  const Sleeper sleeper;
  auto journal = begin();
  ASSERT_TRUE(journal);
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  ASSERT_TRUE(journal->add_process(sleeper.id(), *before));
  const CpuSet one = before->mask.first(1);
  ASSERT_TRUE(journal->add_mask(one));
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  EXPECT_EQ(restore_left_behind(folder()).threads, 0);
  EXPECT_EQ(read_original(sleeper.number())->mask, one);
  EXPECT_TRUE(std::filesystem::exists(path_of(*journal)));
}

TEST_F(JournalTest, AProcessOfTheSameNumberThatBeganLaterIsNotTouched) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  const CpuSet one = before->mask.first(1);
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  JournalContent content;
  content.processes[{sleeper.number(), sleeper.id().start_time - 1}].original = *before;
  content.masks.insert(one.to_string());
  EXPECT_EQ(restore(content).threads, 0);
  EXPECT_EQ(read_original(sleeper.number())->mask, one);
}

TEST_F(JournalTest, MasksThatNobodySetAndThreadsLeftAloneStayAsTheyAre) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  if (before->mask.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const CpuSet one = before->mask.first(1);
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  JournalContent content;
  content.processes[sleeper.id()].original = *before;
  content.masks.insert((before->mask - one).to_string());
  EXPECT_EQ(restore(content).threads, 0);
  content.masks.insert(one.to_string());
  content.processes[sleeper.id()].left_alone[sleeper.number()] = {};
  EXPECT_EQ(restore(content).threads, 0);
  content.processes[sleeper.id()].left_alone.clear();
  EXPECT_EQ(restore(content).threads, 1);
  EXPECT_EQ(restore(content).threads, 0);
  EXPECT_EQ(read_original(sleeper.number())->mask, before->mask);
}

// The state after the cpuset changed to `open`, when the kernel may remember the given mask.
TEST_F(JournalTest, WhatTheKernelMadeOfAMaskThatWasGivenIsGivenBack) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  if (before->mask.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const CpuSet one = before->mask.first(1);
  const CpuSet rest = before->mask - one;
  JournalContent content;
  // Besides these, a mask that no such thread can have.
  content.masks = {CpuSet{CpuSet::limit - 1}.to_string(), (one | CpuSet{CpuSet::limit - 1}).to_string()};
  Original original = *before;
  original.any_cpu = true;
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  EXPECT_EQ(restore_thread(sleeper.number(), original, content, one), Outcome::restored) << "of it";
  EXPECT_EQ(read_original(sleeper.number())->mask, before->mask);
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), rest));
  EXPECT_EQ(restore_thread(sleeper.number(), original, content, rest), Outcome::restored) << "instead of it";
  EXPECT_EQ(read_original(sleeper.number())->mask, before->mask);
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), rest));
  EXPECT_EQ(restore_thread(sleeper.number(), original, content, before->mask), Outcome::unchanged)
      << "the program chose it: the kernel would have made something else of what was given";
  const Given given{.mask = {CpuSet::limit - 1}};
  EXPECT_EQ(restore_thread(sleeper.number(), original, given, rest), Outcome::restored);
  EXPECT_EQ(read_original(sleeper.number())->mask, before->mask);
}

TEST_F(JournalTest, OfAThreadThatLooksAfterItselfWhatItWasGivenAndStillHasIsGivenBack) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  if (before->mask.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (before->scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const CpuSet given = before->mask.first(1);
  const CpuSet chosen = before->mask - given;
  const auto has = [&](const CpuSet& mask, machine::SchedulingClass scheduling_class) {
    EXPECT_TRUE(machine::bind_thread(sleeper.number(), mask));
    EXPECT_TRUE(machine::change_scheduling(sleeper.number(), {.scheduling_class = scheduling_class}));
  };
  const auto becomes = [&](const CpuSet& mask, machine::SchedulingClass scheduling_class) {
    const auto now = read_original(sleeper.number()).value();
    return now.mask == mask && now.scheduling_class == scheduling_class;
  };
  JournalContent content;
  content.processes[sleeper.id()].original = *before;
  Given& its = content.processes[sleeper.id()].left_alone[sleeper.number()];

  its = {.mask = given};
  has(given, machine::SchedulingClass::batch);
  EXPECT_EQ(restore(content).threads, 1);
  EXPECT_TRUE(becomes(before->mask, machine::SchedulingClass::batch));
  its = {.scheduling_class = machine::SchedulingClass::batch};
  has(chosen, machine::SchedulingClass::batch);
  EXPECT_EQ(restore(content).threads, 1);
  EXPECT_TRUE(becomes(chosen, machine::SchedulingClass::other));
  // It later chose a state that others were given.
  content.masks = {chosen.to_string()};
  content.attributes = {{machine::SchedulingClass::batch, 0}};
  its = {.mask = given};
  has(chosen, machine::SchedulingClass::batch);
  EXPECT_EQ(restore(content).threads, 0);
}

TEST_F(JournalTest, OfAThreadThatLooksAfterItsClassTheSliceIsGivenBack) {
  if (machine::default_slice_ns() == 0) GTEST_SKIP() << "needs slices, of Linux 6.12";
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  constexpr std::int64_t slice_ns = 5'000'000;
  ASSERT_TRUE(machine::change_scheduling(
      sleeper.number(), {.scheduling_class = machine::SchedulingClass::batch, .slice_ns = slice_ns}));
  JournalContent content;
  content.processes[sleeper.id()].original = *before;
  content.processes[sleeper.id()].left_alone[sleeper.number()] = {.slice_ns = slice_ns};
  EXPECT_EQ(restore(content).threads, 1);
  EXPECT_EQ(read_original(sleeper.number())->slice_ns, before->slice_ns);
  EXPECT_EQ(read_original(sleeper.number())->scheduling_class, machine::SchedulingClass::batch);
}

TEST_F(JournalTest, AThreadThatAnEarlierVersionHasLeftAloneKeepsAllItHas) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  if (before->mask.count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const CpuSet one = before->mask.first(1);
  leave_journal(fmt::format("process {0} {1} {2} {3} 0 0 0;\nalone {0} {1} {0};\nmask {4};\n",
                            sleeper.number(), sleeper.id().start_time, before->mask.to_string(),
                            machine::name_of(before->scheduling_class), one.to_string()));
  ASSERT_TRUE(machine::bind_thread(sleeper.number(), one));
  EXPECT_EQ(restore_left_behind(folder()).threads, 0);
  EXPECT_EQ(read_original(sleeper.number())->mask, one);
}

TEST_F(JournalTest, OtherFilesInTheFolderAreKept) {
  std::ofstream(folder_ / "notes.journal") << "x";
  std::ofstream(folder_ / "4194305-77.txt") << "x";
  restore_left_behind(folder());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "notes.journal"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "4194305-77.txt"));
}

TEST_F(JournalTest, ARunInAnotherPidNamespaceIsJudgedByItsLockAlone) {
  const auto journal = begin();
  ASSERT_TRUE(journal);
  // Seen from another namespace, the process's number has no meaning, but the lock shows that the run goes
  // on.
  ASSERT_EQ(restore_left_behind(folder()).threads, 0);
  EXPECT_TRUE(std::filesystem::exists(path_of(*journal)));
  std::ofstream(folder_ / "00000000000000aa.journal") << "namespace 1;\nprocess 1 1 0 other 0 0 0;\n";
  restore_left_behind(folder());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "00000000000000aa.journal")) << "numbers of other processes";
}

TEST_F(JournalTest, AJournalOfAnotherUserIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  leave_journal(fmt::format("process {} {} {} fifo 0 50 0;\nattributes {} {};\n", sleeper.number(),
                            sleeper.id().start_time, before->mask.to_string(),
                            machine::name_of(before->scheduling_class), before->slice_ns));
  ASSERT_EQ(chown((folder_ / "0123456789abcdef.journal").c_str(), 65534, 65534), 0);
  EXPECT_EQ(restore_left_behind(folder()).threads, 0);
  EXPECT_EQ(read_original(sleeper.number()), *before);
}

TEST_F(JournalTest, AClassThatNobodySetStays) {
  const Sleeper sleeper;
  const auto before = read_original(sleeper.number());
  ASSERT_TRUE(before);
  if (before->scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  JournalContent content;
  content.processes[sleeper.id()].original = *before;
  content.attributes.insert({machine::SchedulingClass::batch, 20'000'000});
  // The program's own, later choice.
  ASSERT_TRUE(
      machine::change_scheduling(sleeper.number(), {.scheduling_class = machine::SchedulingClass::batch}));
  EXPECT_EQ(restore(content).threads, 0);
  EXPECT_EQ(read_original(sleeper.number())->scheduling_class, machine::SchedulingClass::batch);
  content.attributes.insert({machine::SchedulingClass::batch, 0});
  EXPECT_EQ(restore(content).threads, 1);
  EXPECT_EQ(read_original(sleeper.number()), *before);
}

// As if the session's runtime folder were removed at its end while the run goes on.
TEST_F(JournalTest, OnceItWasRemovedItTakesNothingAnyMore) {
  auto journal = begin();
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->add_mask({3}));
  ASSERT_TRUE(journal->add_attributes({machine::SchedulingClass::batch, 20}));
  std::filesystem::remove(path_of(*journal));
  EXPECT_TRUE(journal->is_lost());
  EXPECT_FALSE(journal->add_process(process, original));
  EXPECT_FALSE(journal->add_mask({4}));
  // Lines that were already in it fail as well, because the file can no longer be found.
  EXPECT_FALSE(journal->add_mask({3}));
  const auto again = journal->add_attributes({machine::SchedulingClass::batch, 20});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("was removed"), std::string::npos) << again.error().message;
  // A new file has all lines.
  ASSERT_TRUE(journal->forget_ended());
  EXPECT_FALSE(journal->is_lost());
  EXPECT_TRUE(journal->add_mask({3}));
}

TEST_F(JournalTest, WhatCannotBeWrittenIsNotInIt) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto journal = begin();
  ASSERT_TRUE(journal);
  const auto size = std::filesystem::file_size(path_of(*journal));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{.rlim_cur = size + 5, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  EXPECT_FALSE(journal->add_mask({3}));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(journal->content().masks.empty());
  EXPECT_TRUE(journal->add_mask({4}));
  EXPECT_EQ(parse_journal(*read_system_file(path_of(*journal).string())), journal->content());
  std::signal(SIGXFSZ, old_handler);
}

}  // namespace
}  // namespace millrace::placement
