#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/base/testing/thread_sleeps_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/apply/guardian.h"
#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/run/program_testing.h"
#include "millrace/placement/run/run_program.h"
#include "millrace/placement/task/children.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <ranges>
#include <sched.h>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using testing::HasSubstr;

// Rounds in which a run observes its program.
constexpr int several_rounds = 5;

// As threads are once a run that gives them this class has seen them.
bool is_in_class_batch(pid_t thread) {
  const auto attributes = machine::scheduling_attributes(thread);
  return attributes && attributes->scheduling_class == machine::SchedulingClass::batch;
}

CpuSet allowed() { return machine::current_thread_affinity().value(); }

// Parses "main 0,1\nthread 0 1\n..." by name.
std::map<std::string, std::string> masks_in(const std::string& output) {
  std::map<std::string, std::string> masks;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.rfind(' ');
    if (blank != std::string::npos) masks[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return masks;
}

std::string one_by_one(const CpuSet& cpus) {
  std::string text;
  for (const int cpu : cpus)
    text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

void become_nobody() {
  constexpr uid_t nobody = 65534;
  if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(1);
  // As after an exec; without it the process could not be traced.
  prctl(PR_SET_DUMPABLE, 1);
  unsetenv("XDG_RUNTIME_DIR");
}

// Births are polled, and the mask library is preloaded. The policy changes nothing unless another is given.
RunSettings preloaded(std::vector<std::string> command, Policy policy = policy_of({})) {
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::polling, std::move(command));
  settings.policy = with_main_at_first_birth(std::move(policy));
  return settings;
}

std::string name_of_way(BirthWay way) { return std::string(name_of(way)); }

class EveryWay : public testing::TestWithParam<std::tuple<BirthWay, const char*>> {
 protected:
  [[nodiscard]] BirthWay way() const { return std::get<0>(GetParam()); }
  [[nodiscard]] std::string program(const std::string& name) const {
    return testing_program(std::get<1>(GetParam()), name);
  }
  // True if threads are pinned before they run.
  [[nodiscard]] bool binds_at_birth() const { return way() == BirthWay::ptrace; }
};

TEST_P(EveryWay, ProgramSeesAllCpusAtItsStart) {
  const TestRun run = run_to_end(fixed(MaskPolicy::main_least_loaded, way(), {program("threads"), "2"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(masks_in(run.output)["main"], one_by_one(allowed()));
}

// As in the paper. If main were not told of all CPUs, the program would count too few.
TEST_P(EveryWay, MainHasItsPlaceBeforeItsFirstThreadBeginsAndIsToldOfAllCpus) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  RunSettings settings = fixed(MaskPolicy::main_least_loaded, way(), {program("cpu_counts")});
  settings.policy = with_main_at_first_birth(*settings.policy);
  settings.masks = MasksNeed::load;
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.summary.threads.refused, 0);
  auto masks = masks_in(run.output);
  const std::string all = one_by_one(allowed());
  const auto is_one = [](const std::string& mask) { return !mask.empty() && !mask.contains(','); };
  EXPECT_EQ(masks["start libc"], all);
  EXPECT_TRUE(is_one(masks["kernel"])) << run.output;
  if (binds_at_birth()) {
    EXPECT_TRUE(is_one(masks["first"])) << run.output;
  }
  EXPECT_EQ(masks["bound count"], masks["start count"]);
  // A static program cannot load the library that would answer.
  if (std::string("dynamic") == std::get<1>(GetParam())) {
    EXPECT_EQ(masks["child"], all) << run.output;
    EXPECT_EQ(masks["bound libc"], all) << run.output;
    EXPECT_EQ(masks["bound pthread"], all) << run.output;
    EXPECT_EQ(masks["chosen libc"], masks["own"]) << run.output;
    EXPECT_EQ(masks["chosen pthread"], masks["own"]) << run.output;
  }
}

// It may ask for the number of CPUs at once and make that many threads for good.
TEST_P(EveryWay, WhatAThreadWithAPlaceStartsBeginsWithWhatTheProgramWasGiven) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (way() != BirthWay::ptrace && std::string("static") == std::get<1>(GetParam()))
    GTEST_SKIP() << "found by polling, some milliseconds later";
  RunSettings settings = fixed(MaskPolicy::main_least_loaded, way(), {program("spawning")});
  settings.policy = with_main_at_first_birth(*settings.policy);
  settings.masks = MasksNeed::load;
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0) << run.errors;
  auto masks = masks_in(run.output);
  for (const std::string who : {"main", "thread"}) {
    EXPECT_EQ(masks[who + " before"], "1");
    EXPECT_EQ(masks[who + " after"], "1") << "it has its place again";
  }
  std::size_t programs = 0;
  for (const auto& [who, mask] : masks) {
    if (who.ends_with("before") || who.ends_with("after")) continue;
    ++programs;
    EXPECT_EQ(mask, one_by_one(allowed())) << who;
  }
  constexpr std::size_t calls = 20;
  EXPECT_EQ(programs, 2 * calls);
  EXPECT_THAT(run.summary.threads.left_alone, testing::IsEmpty());
}

TEST_P(EveryWay, ThreadsBeginOnCoresOfTheirOwnWhereBirthIsSeen) {
  const auto topology = machine::Topology::live();
  ASSERT_TRUE(topology) << topology.error().message;
  const auto count =
      std::ranges::count_if(topology->cores(), [](const CpuSet& core) { return core.intersects(allowed()); });
  const TestRun run =
      run_to_end(fixed(MaskPolicy::one_to_one, way(), {program("threads"), std::to_string(count), "0.2"}));
  EXPECT_EQ(run.status, 0);
  auto masks = masks_in(run.output);
  std::set<int> own;  // the lowest CPUs of cores
  for (int i = 0; i < count; ++i)
    if (const auto mask = CpuSet::parse(masks["thread " + std::to_string(i)]); mask && mask->count() == 1)
      own.insert(topology->core_of(mask->lowest()).lowest());
  if (binds_at_birth()) {
    EXPECT_EQ(std::ssize(own), count) << run.output;
  }
  if (binds_at_birth()) {
    EXPECT_EQ(run.summary.threads.births, count + 1);
  }
  EXPECT_EQ(run.summary.threads.refused, 0);
  EXPECT_EQ(run.summary.birth, way());
}

TEST_P(EveryWay, ThreadsThatOutnumberPusAreFreeToGoWhereTheyLike) {
  const int count = 3 * allowed().count();
  const TestRun run =
      run_to_end(fixed(MaskPolicy::one_to_one, way(), {program("threads"), std::to_string(count), "0"}));
  EXPECT_EQ(run.status, 0);
  // They stay within the CPUs that share a last-level cache, except those that began while there were enough
  // PUs. On a busy machine the last thread made may be one of these.
  if (binds_at_birth()) {
    const auto topology = machine::Topology::live();
    ASSERT_TRUE(topology) << topology.error().message;
    std::set<std::string> wide{one_by_one(allowed())};
    for (const int cpu : allowed())
      if (const machine::Cache* const cache = topology->last_level_cache_of(cpu))
        wide.insert(one_by_one(cache->cpus & allowed()));
    const auto masks = masks_in(run.output);
    const auto free = std::ranges::count_if(masks | std::views::values,
                                            [&](const std::string& mask) { return wide.contains(mask); });
    EXPECT_GE(free, count + 1 - allowed().count());
  }
}

TEST_P(EveryWay, CrowdsTellHowManyThreadsThereWereAndHowLong) {
  const std::int64_t begun_ns = now_ns();
  RunSettings settings = fixed(MaskPolicy::none, way(), {program("threads"), "4", "60"});
  settings.scheduling_class = machine::SchedulingClass::batch;  // which threads have once they are seen
  TestProcess process(settings);
  ASSERT_TRUE(process.wait_for_output("thread 3"));
  const std::int64_t all_there_ns = now_ns();
  ASSERT_TRUE(eventually([&] {
    const auto threads = list_threads(process.program());
    return threads.size() == 5 && std::ranges::all_of(threads, is_in_class_batch);
  }));
  // The last one is counted by the next round at the latest.
  EXPECT_TRUE(sleeps_again(process.process(), 2));
  const double together = seconds(now_ns() - all_there_ns);
  kill(process.program(), SIGTERM);
  const TestRun run = process.finish();
  const double whole = seconds(now_ns() - begun_ns);
  double all = 0;
  double five = 0;
  for (const Crowd& crowd : run.summary.threads.crowds) {
    EXPECT_EQ(crowd.processes, 1);
    EXPECT_LE(crowd.threads, 5);
    all += crowd.seconds;
    if (crowd.threads == 5) five += crowd.seconds;
  }
  EXPECT_GT(five, way() == BirthWay::ptrace ? together : 0);
  EXPECT_LE(all, whole);
}

TEST_P(EveryWay, ThousandThreadsRunThrough) {
  const TestRun run = run_to_end(fixed(MaskPolicy::one_to_one, way(), {program("threads"), "1000", "0"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(masks_in(run.output).size(), 1001U);
  if (binds_at_birth()) {
    EXPECT_EQ(run.summary.threads.births, 1001);
  }
}

TEST_P(EveryWay, ThreadsBornFasterThanTheyAreSeenRunThrough) {
  const TestRun run = run_to_end(fixed(MaskPolicy::one_to_one, way(), {program("short_threads"), "3000"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, HasSubstr("us"));
  if (binds_at_birth()) {
    EXPECT_EQ(run.summary.threads.births, 3001);
  }
}

TEST_P(EveryWay, ProcessesThatMakeProcessesAreFollowed) {
  const TestRun run = run_to_end(fixed(MaskPolicy::one_to_one, way(), {program("processes"), "4"}));
  EXPECT_EQ(run.status, 0);
  if (way() == BirthWay::ptrace) {
    EXPECT_EQ(run.summary.threads.processes, 31);
    EXPECT_EQ(run.summary.threads.births, 62);
  }
}

TEST_P(EveryWay, ExecutedProgramsFindAllCpusAgain) {
  const TestRun run = run_to_end(fixed(MaskPolicy::main_least_loaded, way(), {program("exec_chain"), "6"}));
  EXPECT_EQ(run.status, 7);
  if (way() == BirthWay::ptrace) {
    EXPECT_EQ(run.output, one_by_one(allowed()) + "\n");
  }
}

TEST_P(EveryWay, MasksThatThreadsChooseThemselvesAreLeftToThem) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  // The program's thread takes the lowest CPU; the policy would put everything on the highest.
  RunSettings settings = fixed(MaskPolicy::none, way(), {program("self_pinning")});
  settings.policy = cpu_list_policy({CpuSet{allowed().highest()}});
  // Without stopping a thread, reading and setting its mask is not atomic: a choice in between is overruled.
  // That rarely happens twice.
  const int attempts = way() == BirthWay::ptrace ? 1 : 3;
  std::string chosen;
  std::string later;
  for (int attempt = 0; attempt < attempts && (attempt == 0 || chosen != later); ++attempt) {
    const TestRun run = run_to_end(settings);
    EXPECT_EQ(run.status, 0);
    std::istringstream(run.output) >> chosen >> later;
  }
  EXPECT_EQ(chosen, later);
}

TEST_P(EveryWay, EndsAsTheProgramEnds) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGTERM, SIGABRT})
    EXPECT_EQ(run_to_end(fixed(MaskPolicy::none, way(), {program("signals"), "die", std::to_string(signal)}))
                  .status,
              128 + signal);
  EXPECT_EQ(run_to_end(fixed(MaskPolicy::none, way(), {program("signals"), "nested"})).status, 8);
}

TEST_P(EveryWay, SignalsSentToItReachTheProgram) {
  TestProcess run(fixed(MaskPolicy::one_to_one, way(), {program("signals"), "catch"}));
  ASSERT_TRUE(run.wait_for_output("ready"));
  kill(run.process(), SIGTERM);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.output, HasSubstr("caught"));
}

TEST_P(EveryWay, ProgramsAreStoppedAndContinuedByOthers) {
  TestProcess run(fixed(MaskPolicy::one_to_one, way(), {program("signals"), "stop"}));
  // Before that, a tracer stops it as well.
  ASSERT_TRUE(run.wait_for_output("ready"));
  const pid_t process = run.program();
  ASSERT_NE(process, 0);
  EXPECT_TRUE(eventually([process] {
    const auto stat = read_task_stat(process, process);
    return stat && (stat->state == 'T' || stat->state == 't');
  }));
  kill(process, SIGCONT);
  EXPECT_EQ(run.finish().status, 6);
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryWay,
                         testing::Combine(testing::Values(BirthWay::ptrace, BirthWay::polling),
                                          testing::ValuesIn(first_if_sanitized({"dynamic", "static"}))),
                         [](const auto& test) {
                           return name_of_way(std::get<0>(test.param)) + "_" + std::get<1>(test.param);
                         });

// A way to observe births, and whether it has been handed over to polling by then.
class GroupSignals : public testing::TestWithParam<std::pair<BirthWay, bool>> {};

TEST_P(GroupSignals, ArriveOnce) {
  const auto [way, handed_over] = GetParam();
  RunSettings settings = fixed(MaskPolicy::none, way, {testing_program("dynamic", "signals"), "count"});
  if (handed_over) settings.hand_over_ns = 1;
  TestProcess run(settings, [] { setpgid(0, 0); });
  ASSERT_TRUE(run.wait_for_output("ready"));
  const pid_t program = run.program();
  if (handed_over) {
    EXPECT_TRUE(eventually([program] { return tracer_of(program) == 0; }));
  }
  kill(-run.process(), SIGUSR1);
  ASSERT_TRUE(run.wait_for_output("caught 1"));
  // A signal to millrace alone also arrives, if it is not merged with the other.
  ASSERT_TRUE(eventually([&] { return !is_pending(run.process(), SIGUSR1); }));
  kill(run.process(), SIGUSR1);
  ASSERT_TRUE(run.wait_for_output("caught 2"));
  // Signals are passed on in order.
  kill(run.process(), SIGTERM);
  EXPECT_EQ(run.finish().status, 2);
}

INSTANTIATE_TEST_SUITE_P(Ways, GroupSignals,
                         testing::Values(std::pair(BirthWay::ptrace, false),
                                         std::pair(BirthWay::ptrace, true),
                                         std::pair(BirthWay::polling, false)),
                         [](const auto& test) {
                           return name_of_way(test.param.first) + (test.param.second ? "_handed_over" : "");
                         });

TEST(RunProgram, ProgramsThatTraceOthersAreNotTraced) {
  RunSettings settings =
      fixed(MaskPolicy::one_to_one, BirthWay::any, {testing_program("dynamic", "tracing")});
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.summary.birth, BirthWay::polling);
  EXPECT_THAT(run.summary.birth_reason, HasSubstr("ptrace"));
}

TEST(RunProgram, WhatCannotBeExecutedEndsAsInAShell) {
  EXPECT_EQ(run_to_end(fixed(MaskPolicy::none, BirthWay::any, {"/nonexistent/program"})).status, 127);
  EXPECT_EQ(run_to_end(fixed(MaskPolicy::none, BirthWay::any, {"/etc/passwd"})).status, 126);
}

TEST(RunProgram, ClassAndSliceAreGivenToEveryThread) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "threads"), "3", "5"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  if (machine::default_slice_ns() != 0) settings.slice_ns = 7'000'000;
  TestProcess run(settings);
  ASSERT_TRUE(run.wait_for_output("thread 2"));
  const pid_t program = run.program();
  const auto threads = list_threads(program);
  EXPECT_EQ(threads.size(), 4U);
  for (const pid_t thread : threads) {
    const auto attributes = machine::scheduling_attributes(thread);
    ASSERT_TRUE(attributes);
    EXPECT_EQ(attributes->scheduling_class, machine::SchedulingClass::batch);
    if (settings.slice_ns) {
      EXPECT_EQ(attributes->slice_ns, *settings.slice_ns);
    }
  }
  kill(program, SIGKILL);
  EXPECT_EQ(run.finish().status, 128 + SIGKILL);
}

TEST(RunProgram, StandardErrorIsReadAlongAndPassedOn) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "work"), "3", "0.5"});
  settings.progress = {ReportStream::error, 0, "done ([0-9]+)"};
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors, HasSubstr("done "));
  EXPECT_EQ(std::ranges::count(run.errors, '\n'), 10);
}

TEST(RunProgram, TrialsAreJudgedByWhatTheProgramReports) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "work"), "3", "60", "100"});
  settings.policy.reset();
  settings.policy_name = "auto";
  settings.progress = {ReportStream::error, 0, "done ([0-9]+)"};
  const auto before = read_original(0).value();
  TestProcess process(settings);
  const pid_t program = process.program();
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(list_threads(program), [&](pid_t thread) {
      const auto now = read_original(thread);
      return now && !same_but_nice(*now, before);
    });
  }));
  kill(program, SIGTERM);
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 128 + SIGTERM);
  EXPECT_EQ(run.summary.progress, ProgressSource::reported);
  EXPECT_GT(run.summary.threads.changes, 0);
}

// A thread's mask and class after millrace has ended in any way.
struct Left {
  CpuSet mask;
  machine::SchedulingAttributes attributes;
};

std::vector<Left> left_of(pid_t program) {
  std::vector<Left> left;
  for (const pid_t thread : list_threads(program))
    if (auto mask = machine::thread_affinity(thread))
      left.push_back({std::move(*mask), machine::scheduling_attributes(thread).value()});
  return left;
}

bool all_as_before(pid_t program, const machine::SchedulingAttributes& before) {
  return std::ranges::all_of(left_of(program), [&](const Left& left) {
    return left.mask == allowed() && left.attributes == before;
  });
}

TEST(RunProgram, WhenItIsKilledTheProgramGoesOnAndTheGuardianRestores) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves nothing to restore";
  const auto before = machine::scheduling_attributes(0).value();
  for (const BirthWay way : {BirthWay::ptrace, BirthWay::polling}) {
    RunSettings settings =
        fixed(MaskPolicy::one_to_one, way, {testing_program("dynamic", "threads"), "2", "20"});
    settings.scheduling_class = machine::SchedulingClass::batch;
    TestProcess run(settings);
    ASSERT_TRUE(run.wait_for_output("thread 1"));
    const pid_t program = run.program();
    ASSERT_TRUE(eventually([&] { return !all_as_before(program, before); }));
    kill(run.process(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return all_as_before(program, before); }));
    EXPECT_EQ(list_threads(program).size(), 3U);
    EXPECT_TRUE(eventually([program] {
      const auto stat = read_task_stat(program, program);
      return stat && stat->state != 't' && stat->state != 'T';
    }));
    kill(program, SIGKILL);
    EXPECT_EQ(run.finish().status, 128 + SIGKILL);
  }
}

bool has_guardian(pid_t millrace) {
  return std::ranges::any_of(list_children(millrace), [](pid_t child) {
    const auto stat = read_task_stat(child, child);
    return stat && stat->name == guardian_name;
  });
}

TEST(RunProgram, AGuardianIsThereBeforeThreadsAreChangedAndForUnchangedOnesABitLater) {
  for (const bool changes : {true, false}) {
    const TemporaryFolder runtime;
    RunSettings settings =
        fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "threads"), "2", "20"});
    if (changes)
      settings.scheduling_class = machine::SchedulingClass::batch;
    else
      settings.policy.reset();
    TestProcess run(settings, [&] { setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1); });
    ASSERT_TRUE(run.wait_for_output("thread 1"));
    EXPECT_TRUE(!changes || has_guardian(run.process()));
    EXPECT_TRUE(eventually([&] { return has_guardian(run.process()); }));
    const pid_t program = run.program();
    kill(run.process(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(runtime.path() / "millrace"); }));
    kill(program, SIGKILL);
    EXPECT_EQ(run.finish().status, 128 + SIGKILL);
  }
}

bool has_journal(const std::filesystem::path& folder) {
  return std::ranges::any_of(std::filesystem::recursive_directory_iterator(folder),
                             [](const auto& entry) { return entry.path().extension() == ".journal"; });
}

// The program kills millrace by its first action.
TEST(RunProgram, LeavesNoJournalIfItIsKilledBeforeOrAfterItHasAGuardian) {
  for (const BirthWay way : {BirthWay::ptrace, BirthWay::polling}) {
    for (const bool changes : {false, true}) {
      SCOPED_TRACE(name_of_way(way) + (changes ? ", with changes" : ", without changes"));
      const TemporaryFolder runtime;
      RunSettings settings =
          fixed(MaskPolicy::none, way, {"/bin/sh", "-c", "kill -KILL $PPID && echo killed"});
      if (changes)
        settings.scheduling_class = machine::SchedulingClass::batch;
      else
        settings.policy.reset();
      TestProcess run(settings, [&] { setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1); });
      ASSERT_TRUE(run.wait_for_output("killed"));
      EXPECT_EQ(run.finish().status, 128 + SIGKILL);
      EXPECT_TRUE(eventually([&] { return !has_journal(runtime.path()); }));
    }
  }
}

struct OwnChoice {
  const char* of;
  bool class_and_slice_are_given;  // otherwise the mask is given
};

class OwnChoices : public testing::TestWithParam<std::tuple<BirthWay, OwnChoice>> {};

// Millrace learns of a thread's own choice before it is killed.
TEST_P(OwnChoices, StayWhenItIsKilledAndTheRestIsGivenBack) {
  const auto [way, choice] = GetParam();
  const auto before = read_original(0).value();
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const TemporaryFolder folder;
  const std::string file = folder.path() / "choose";
  RunSettings settings =
      fixed(MaskPolicy::none, way, {testing_program("dynamic", "choosers"), choice.of, file});
  Original expected = before;
  if (choice.class_and_slice_are_given) {
    settings.scheduling_class = machine::SchedulingClass::batch;
    if (machine::default_slice_ns() != 0) settings.slice_ns = 5'000'000;
    expected.mask = CpuSet{allowed().lowest()};
  } else {
    settings.policy = cpu_list_policy({CpuSet{allowed().highest()}});
    expected.scheduling_class = machine::SchedulingClass::batch;
  }
  TestProcess run(settings, [&] { setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1); });
  ASSERT_TRUE(run.wait_for_output("ready"));
  const pid_t program = run.program();
  const auto has_thread = [&](const auto& that) {
    return std::ranges::any_of(list_threads(program), [&](pid_t thread) {
      const auto now = read_original(thread);
      return thread != program && now && that(*now);
    });
  };
  ASSERT_TRUE(eventually(
      [&] { return has_thread([&](const Original& now) { return !same_but_nice(now, before); }); }));
  std::ofstream(file) << "now";
  ASSERT_TRUE(eventually([&] {
    for (const auto& journal : std::filesystem::directory_iterator(folder.path() / "millrace"))
      if (read_system_file(journal.path().string()).value_or("").contains("\nalone ")) return true;
    return false;
  }));
  kill(run.process(), SIGKILL);
  EXPECT_TRUE(eventually(
      [&] { return has_thread([&](const Original& now) { return same_but_nice(now, expected); }); }));
  EXPECT_TRUE(eventually([&] { return same_but_nice(read_original(program).value(), before); }));
  kill(program, SIGKILL);
  std::ignore = run.finish();
}

INSTANTIATE_TEST_SUITE_P(
    OfThreads, OwnChoices,
    testing::Combine(testing::Values(BirthWay::ptrace, BirthWay::polling),
                     testing::Values(OwnChoice{"class", false}, OwnChoice{"mask", true})),
    [](const auto& info) { return name_of_way(std::get<0>(info.param)) + "_" + std::get<1>(info.param).of; });

struct Chooser {
  const char* mode;
  bool chosen_stay;  // its children begin with what it chose; otherwise with the program's state
};

class Choosers : public testing::TestWithParam<Chooser> {};

// A policy with one mask for main threads and another for the rest; empty: all CPUs.
Policy by_kind(const CpuSet& mains, const CpuSet& others) {
  return Policy([=](const MachineState&, std::span<const ThreadView> threads) {
    std::vector<ThreadPlan> plans(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i)
      plans[i].mask = threads[i].main ? mains : others;
    return plans;
  });
}

// It chooses what it would have been given anyway, so that only the origin of the choice differs.
TEST_P(Choosers, StartProgramsWithWhatTheyHaveChosenAndElseWithWhatTheProgramWasGiven) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const Chooser& chooser = GetParam();
  const std::string cpu = std::to_string(allowed().highest());
  RunSettings settings = preloaded({testing_program("dynamic", "choosers"), chooser.mode, cpu},
                                   by_kind({}, CpuSet{allowed().highest()}));
  const std::string begun_with = chooser.chosen_stay ? cpu : one_by_one(allowed());
  std::map<std::string, std::string> expected{
      {"fork", begun_with}, {"spawn", begun_with}, {"shell", begun_with}};
  if (chooser.chosen_stay) expected["own"] = cpu;  // otherwise it has yet to be pinned again
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0) << run.errors;
  auto masks = masks_in(run.output);
  if (!chooser.chosen_stay) masks.erase("own");
  EXPECT_EQ(masks, expected);
}

INSTANTIATE_TEST_SUITE_P(Modes, Choosers,
                         testing::Values(Chooser{"itself", true}, Chooser{"by-main", true},
                                         Chooser{"attributes", true}, Chooser{"inherits", true},
                                         Chooser{"main", false}),
                         [](const auto& info) {
                           std::string name = info.param.mode;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(RunProgram, WhatAThreadHasJustChosenStaysInWhatItStartsAlsoWhereOthersWereGivenThat) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves no choice";
  const std::string cpu = std::to_string(allowed().lowest());
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "choosers"), "itself", cpu});
  settings.policy =
      with_main_at_first_birth(by_kind(CpuSet{allowed().lowest()}, CpuSet{allowed().highest()}));
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0) << run.errors;
  auto masks = masks_in(run.output);
  for (const char* what : {"fork", "spawn", "shell", "own"})
    EXPECT_EQ(masks[what], cpu) << what;
}

TEST(RunProgram, AttachedItPlacesTheThreadsAndGivesThemBackOnASignal) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU leaves nothing to place";
  for (const BirthWay way : {BirthWay::ptrace, BirthWay::polling}) {
    const auto before = machine::scheduling_attributes(0).value();
    const pid_t program = fork();
    if (program == 0) {
      const std::string path = testing_program("static", "threads");
      close(1);
      execl(path.c_str(), path.c_str(), "2", "30", nullptr);
      _exit(1);
    }
    ASSERT_TRUE(eventually([program] { return list_threads(program).size() == 3; }));
    RunSettings settings = fixed(MaskPolicy::one_to_one, way, {});
    settings.attach = program;
    settings.scheduling_class = machine::SchedulingClass::batch;
    TestProcess run(settings);
    EXPECT_TRUE(eventually([program] {
      std::set<std::string> masks;
      for (const Left& left : left_of(program))
        if (left.attributes.scheduling_class == machine::SchedulingClass::batch)
          masks.insert(left.mask.to_string());
      return masks.size() == 3;  // both threads' masks and main's
    }));
    kill(run.process(), SIGINT);
    const TestRun ended = run.finish();
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.summary.birth, way);
    EXPECT_TRUE(all_as_before(program, before));
    EXPECT_EQ(list_threads(program).size(), 3U);
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
  }
}

TEST(RunProgram, AttachingToNothingIsRefused) {
  RunSettings settings;
  settings.attach = 1 << 24;
  EXPECT_EQ(run_to_end(settings).status, 99);
}

TEST(RunProgram, MasksStayWithinACpusetOfFewerCpus) {
  if (allowed().count() < 2) GTEST_SKIP() << "one CPU cannot be narrowed";
  const CpuSet one = allowed().first(1);
  const machine::AffinityGuard guard;
  ASSERT_TRUE(machine::bind_current_thread(one));
  for (const MaskPolicy policy : all_mask_policies) {
    const TestRun run =
        run_to_end(fixed(policy, BirthWay::ptrace, {testing_program("dynamic", "threads"), "2", "0.3"}));
    EXPECT_EQ(run.status, 0);
    for (const auto& [name, mask] : masks_in(run.output))
      EXPECT_EQ(mask, one_by_one(one)) << name << " under " << name_of(policy);
  }
}

TEST(RunProgram, RealTimeThatIsNotPermittedIsRefusedBeforeTheProgramBegins) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::any, {"/bin/echo", "began"});
  settings.scheduling_class = machine::SchedulingClass::rr;
  TestProcess run(settings, become_nobody);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 99);
  EXPECT_THAT(ended.output, testing::Not(HasSubstr("began")));
  EXPECT_THAT(ended.errors, HasSubstr("RLIMIT_RTPRIO"));
}

TEST(RunProgram, ItsOwnPriorityIsNoneOfTheProgram) {
  const int before = getpriority(PRIO_PROCESS, 0);
  if (before >= 19) GTEST_SKIP() << "there is no lower priority";
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::any, {"/bin/sh", "-c", "nice; sleep 0.2"});
  settings.own_nice = before + 1;
  TestProcess run(settings);
  ASSERT_TRUE(
      eventually([&] { return getpriority(PRIO_PROCESS, static_cast<id_t>(run.process())) == before + 1; }));
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_TRUE(ended.output.starts_with(std::to_string(before) + "\n")) << ended.output;
}

TEST(RunProgram, APriorityThatIsNotPermittedIsRefusedBeforeTheProgramBegins) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::any, {"/bin/echo", "began"});
  settings.own_nice = -5;
  TestProcess run(settings, become_nobody);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 99);
  EXPECT_EQ(ended.output, "");
  EXPECT_THAT(ended.errors, HasSubstr("ulimit -e 25"));
  EXPECT_EQ(std::ranges::count(ended.errors, '\n'), 1);
}

TEST(RunProgram, EverythingElseWorksForAnybody) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  // Leaving class idle needs a privilege.
  const bool fair = machine::scheduling_attributes(0)->scheduling_class == machine::SchedulingClass::other;
  for (const BirthWay way : {BirthWay::ptrace, BirthWay::polling}) {
    RunSettings settings =
        fixed(MaskPolicy::one_to_one, way, {testing_program("dynamic", "threads"), "2", "0.5"});
    if (fair) settings.scheduling_class = machine::SchedulingClass::batch;
    TestProcess run(settings, become_nobody);
    const TestRun ended = run.finish();
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.summary.birth, way) << ended.summary.birth_reason;
    EXPECT_EQ(ended.summary.threads.refused, 0) << ended.summary.threads.first_refusal;
    EXPECT_GT(ended.summary.threads.changes, 0);
  }
}

// 1000 is near the number that the preloaded library would get, and 100 near its number under a low limit. If
// they collided, the loader would wait for ever to read the library.
TEST(RunProgram, ThePreloadedLibraryLeavesTheDescriptorFreeThatProgressIsReadFrom) {
  for (const int descriptor : {100, 1000}) {
    RunSettings settings = preloaded(
        {"/bin/sh", "-c", fmt::format("echo begun; exec 1>/proc/self/fd/{}; echo done 1", descriptor)});
    settings.progress = {ReportStream::descriptor, descriptor, "done ([0-9]+)"};
    const TestRun run = run_to_end(settings);
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(run.output, "begun\n") << descriptor;
  }
}

TEST(RunProgram, TheProgramFindsTheDescriptorsThatItWouldFindWithout) {
  const std::vector<std::string> command = {"/bin/sh", "-c", "cd /proc/$$/fd; echo *"};
  const TestRun polled = run_to_end(fixed(MaskPolicy::none, BirthWay::polling, command));
  EXPECT_EQ(run_to_end(preloaded(command)).output, polled.output);
}

// bash has a getenv() and an unsetenv() of its own.
TEST(RunProgram, ProgramsAndTheirChildrenFindThePreloadListThatTheyWouldHaveFound) {
  const char* const look = "/usr/bin/env | /bin/grep -E '^(LD_PRELOAD|MILLRACE)'; true";
  for (const char* shell : {"/bin/sh", "/bin/bash"})
    for (const char* list : {static_cast<const char*>(nullptr), "", "libm.so.6", "libm.so.6:libdl.so.2"}) {
      TestProcess run(preloaded({shell, "-c", look}), [list] {
        unsetenv("LD_PRELOAD");
        if (list != nullptr) setenv("LD_PRELOAD", list, 1);
      });
      const TestRun ended = run.finish();
      EXPECT_EQ(ended.output, list == nullptr ? "" : "LD_PRELOAD=" + std::string(list) + "\n") << shell;
      EXPECT_EQ(ended.errors, "") << shell;
    }
}

// The signal arrives while the journal's folder is made.
TEST(RunProgram, ASignalBeforeTheProgramBeginsEndsItAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  const RunSettings settings = fixed(MaskPolicy::none, BirthWay::polling, {"/bin/echo", "begun"});
  TestProcess run(settings, [&] {
    setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
    const int watched = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
    if (fcntl(watched, F_SETSIG, SIGTERM) != 0 || fcntl(watched, F_NOTIFY, DN_CREATE) != 0) _exit(97);
  });
  const TestRun ended = run.finish();
  if (ended.status == 97) GTEST_SKIP() << "needs a kernel that tells of changes by signals";
  EXPECT_EQ(ended.status, 128 + SIGTERM);
  EXPECT_EQ(ended.output, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RunProgram, NothingIsLeftBehind) {
  // A separate folder, because other tests may be running programs now.
  const TemporaryFolder runtime;
  TestProcess process(
      fixed(MaskPolicy::one_to_one, BirthWay::polling, {testing_program("dynamic", "threads"), "2"}),
      [&runtime] { setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1); });
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(runtime.entries(), 0U);
}

class MakersThatDie : public testing::TestWithParam<const char*> {};

TEST_P(MakersThatDie, LeaveNobodyBehindWhoIsStoppedForEver) {
  const TestRun run = run_to_end(fixed(MaskPolicy::one_to_one, BirthWay::ptrace,
                                       {testing_program("static", "orphans"), GetParam(), "1000"}));
  EXPECT_EQ(run.status, 0) << run.output << run.errors;
}

INSTANTIATE_TEST_SUITE_P(Ends, MakersThatDie, testing::Values("killed", "exits"),
                         [](const auto& test) { return std::string(test.param); });

// A way to observe births, and whether it has been handed over to polling by then.
class Daemons : public testing::TestWithParam<std::pair<BirthWay, bool>> {
 protected:
  void SetUp() override {
    if (read_original(0)->scheduling_class != machine::SchedulingClass::other)
      GTEST_SKIP() << "needs class other";
  }
  // Number of daemons left by a program whose state differs from this process's.
  [[nodiscard]] static int changed_daemons_of(std::vector<std::string> command, const TemporaryFile& numbers,
                                              int count) {
    const auto before = read_original(0).value();
    const auto [way, handed_over] = GetParam();
    RunSettings settings = fixed(MaskPolicy::none, way, std::move(command));
    settings.scheduling_class = machine::SchedulingClass::batch;
    if (handed_over) settings.hand_over_ns = 1;
    EXPECT_EQ(run_to_end(settings).status, 0);
    EXPECT_TRUE(eventually([&] { return std::ranges::count(numbers.text(), '\n') == count; }));
    int changed = 0;
    std::istringstream lines(numbers.text());
    for (pid_t daemon = 0; lines >> daemon;) {
      const auto now = read_original(daemon);
      if (!now || !same_but_nice(*now, before)) ++changed;
      kill(daemon, SIGKILL);
    }
    return changed;
  }
};

TEST_P(Daemons, AreGivenBackWhatTheProgramHad) {
  constexpr int rounds = 12;
  for (int round = 0; round < rounds; ++round) {
    const TemporaryFile numbers;
    EXPECT_EQ(changed_daemons_of(
                  {testing_program("dynamic", "daemon"), numbers.path(), std::to_string(round % 4 * 10)},
                  numbers, 1),
              0);
  }
}

// Their makers are in fork() while they are restored.
TEST_P(Daemons, ThatAreBeingMadeAsTheProgramEndsAreGivenBackWhatItHad) {
  constexpr int rounds = 3;
  constexpr int daemons = 6;
  for (int round = 0; round < rounds; ++round) {
    const TemporaryFile numbers;
    EXPECT_EQ(changed_daemons_of({testing_program("dynamic", "makers"), "late", numbers.path(),
                                  std::to_string(daemons), "60", "1000"},
                                 numbers, daemons),
              0);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Daemons,
                         testing::Values(std::pair(BirthWay::ptrace, false),
                                         std::pair(BirthWay::ptrace, true),
                                         std::pair(BirthWay::polling, false)),
                         [](const auto& test) {
                           return name_of_way(test.param.first) + (test.param.second ? "_handed_over" : "");
                         });

// They are not in the journal.
TEST(RunProgram, WhenItIsKilledProcessesThatAreBeingMadeAreRestoredToo) {
  const auto before = read_original(0).value();
  if (before.scheduling_class != machine::SchedulingClass::other) GTEST_SKIP() << "needs class other";
  const TemporaryFolder runtime;
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::polling, {testing_program("dynamic", "makers"), "keeps", "20", "60"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess run(settings, [&runtime] { setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1); });
  const pid_t program = run.program();
  ASSERT_TRUE(run.wait_for_output("ready"));
  ASSERT_TRUE(eventually([program] { return list_children(program).size() >= 3; }));
  kill(run.process(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return list_children(program).size() == 20; }));
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(runtime.path() / "millrace"); }))
      << "the guardian has not ended, or left its folder";
  for (const pid_t child : list_children(program)) {
    EXPECT_TRUE(same_but_nice(read_original(child).value(), before)) << child;
    kill(child, SIGKILL);
  }
  kill(program, SIGKILL);
  EXPECT_EQ(run.finish().status, 128 + SIGKILL);
}

// Its first thread never stops again, so the tracer must not wait for that.
TEST(RunProgram, WhoseMainThreadHasEndedIsHandedOverAsWell) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("dynamic", "makers"), "main-exits"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  settings.hand_over_ns = 50'000'000;
  TestProcess run(settings);
  ASSERT_TRUE(run.wait_for_output("ready"));
  const pid_t program = run.program();
  const auto others_untraced = [program] {
    return std::ranges::all_of(list_threads(program), [program](pid_t thread) {
      return thread == program || tracer_of(thread) == 0;
    });
  };
  EXPECT_TRUE(eventually(others_untraced));
  kill(program, SIGUSR1);
  ASSERT_TRUE(eventually([program] { return list_threads(program).size() == 3; }));
  // Births from now on are found by polling, here the youngest thread, which inherited class other.
  EXPECT_TRUE(eventually([program] {
    const auto youngest = machine::scheduling_attributes(std::ranges::max(list_threads(program)));
    return youngest && youngest->scheduling_class == machine::SchedulingClass::batch;
  }));
  kill(program, SIGTERM);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 128 + SIGTERM);
  EXPECT_EQ(ended.summary.threads.births, 3);
}

// Gives this process and its children a separate file system for runtime files, with room for this many.
void have_runtime_folder_of(int files) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(97);
  const auto options = fmt::format("size=64k,mode=700,nr_inodes={}", files);
  if (mount("millrace-test", "/mnt", "tmpfs", 0, options.c_str()) != 0) _exit(97);
  setenv("XDG_RUNTIME_DIR", "/mnt", 1);
}

class Unwritable : public testing::TestWithParam<BirthWay> {};

// What cannot be undone is not done, and no thread is held up for it.
TEST_P(Unwritable, WithoutAJournalTheProgramRunsUntouchedAndTheSummarySaysWhy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to have a full file system";
  RunSettings settings =
      fixed(MaskPolicy::none, GetParam(), {testing_program("dynamic", "threads"), "2", "0.1"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess process(settings, [] { have_runtime_folder_of(2); });  // the root and millrace/
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(masks_in(run.output).size(), 3U) << run.output;
  EXPECT_EQ(run.summary.threads.changes, 0);
  EXPECT_THAT(run.summary.notes, testing::Contains(HasSubstr("No space left")));
}

INSTANTIATE_TEST_SUITE_P(Ways, Unwritable, testing::Values(BirthWay::ptrace, BirthWay::polling),
                         [](const auto& test) { return name_of_way(test.param); });

TEST(RunProgram, WhereNoProcessMayBeMadeTheProgramRunsWithoutMillrace) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be a user without other processes";
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::any, {"/bin/echo", "began"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess process(settings, [] {
    become_nobody();
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_NPROC, &none);
  });
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, "began\n");
  EXPECT_THAT(run.errors, HasSubstr("the program runs without"));
}

// Returns the message with which attaching is refused, from a process that does not own the target.
std::string attaching_to(pid_t process, const std::function<void()>& before = {}) {
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::any, {});
  settings.attach = process;
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess run(settings, before);
  const TestRun ended = run.finish();
  return ended.status == 99 ? ended.errors : fmt::format("status {}", ended.status);
}

// As after `unshare --pid` without --fork.
void send_children_to_another_namespace() {
  if (unshare(CLONE_NEWPID) != 0) _exit(1);
}

class ChildrenInAnotherNamespace : public testing::TestWithParam<BirthWay> {};

TEST_P(ChildrenInAnotherNamespace, TheProgramRunsWithoutMillraceAndIsTheirFirst) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a PID namespace";
  RunSettings settings = fixed(MaskPolicy::none, GetParam(), {"/bin/sh", "-c", "sh -c 'echo $$'; exit 5"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess process(settings, send_children_to_another_namespace);
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 5) << run.errors;
  EXPECT_EQ(run.output, "1\n");
  EXPECT_THAT(run.errors, HasSubstr("add --fork; the program runs without"));
}

TEST(RunProgram, AttachingWhereChildrenAreInAnotherNamespaceIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a PID namespace";
  EXPECT_THAT(attaching_to(getpid(), send_children_to_another_namespace), HasSubstr("another PID namespace"));
}

INSTANTIATE_TEST_SUITE_P(Ways, ChildrenInAnotherNamespace,
                         testing::Values(BirthWay::any, BirthWay::ptrace, BirthWay::polling),
                         [](const auto& test) { return name_of_way(test.param); });

TEST(RunProgram, ThreadsOfTheKernelAreNotTouched) {
  const auto stat = read_task_stat(2, 2);
  if (!stat || !stat->of_kernel()) GTEST_SKIP() << "process 2 is no thread of the kernel here";
  EXPECT_THAT(attaching_to(2), HasSubstr("thread of the kernel"));
}

TEST(RunProgram, AttachingToAnotherUsersProcessIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  EXPECT_THAT(attaching_to(getpid(), become_nobody), HasSubstr("belongs to another user"));
}

TEST(RunProgram, AttachingTwiceIsRefused) {
  const pid_t program = fork();
  if (program == 0) {
    pause();
    _exit(0);
  }
  const auto before = machine::scheduling_attributes(program).value();
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::polling, {});
  settings.attach = program;
  settings.scheduling_class = machine::SchedulingClass::batch;
  TestProcess first(settings);
  ASSERT_TRUE(eventually([&] {
    return machine::scheduling_attributes(program)->scheduling_class == machine::SchedulingClass::batch;
  }));
  EXPECT_THAT(attaching_to(program), HasSubstr("followed by another millrace"));
  kill(first.process(), SIGINT);
  EXPECT_EQ(first.finish().status, 0);
  EXPECT_EQ(machine::scheduling_attributes(program).value(), before);
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
}

TEST(RunProgram, AttachedUnderNohupItDoesNotEndWithTheTerminal) {
  const pid_t program = fork();
  if (program == 0) {
    pause();
    _exit(0);
  }
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::polling, {});
  settings.attach = program;
  settings.scheduling_class = machine::SchedulingClass::batch;
  std::signal(SIGHUP, SIG_IGN);
  settings.ignored_signals = IgnoredSignals::now();
  TestProcess run(settings);
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(eventually([program] { return is_in_class_batch(program); }));
  kill(run.process(), SIGHUP);
  EXPECT_TRUE(sleeps_again(run.process(), several_rounds));
  EXPECT_TRUE(is_in_class_batch(program));
  kill(run.process(), SIGTERM);
  EXPECT_EQ(run.finish().status, 0);
  EXPECT_FALSE(is_in_class_batch(program));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
}

TEST(RunProgram, AnIgnoredSigchldTakesNoExitStatusAway) {
  for (const BirthWay way : {BirthWay::ptrace, BirthWay::polling}) {
    TestProcess run(fixed(MaskPolicy::none, way, {"/bin/sh", "-c", "exit 7"}),
                    [] { std::signal(SIGCHLD, SIG_IGN); });
    EXPECT_EQ(run.finish().status, 7);
  }
}

// So that debuggers and sudo work in it later.
TEST(RunProgram, IsNotTracedAnyMoreOnceBirthsHaveCeased) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("static", "threads"), "3", "20"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  settings.hand_over_ns = 100'000'000;
  TestProcess run(settings);
  ASSERT_TRUE(run.wait_for_output("thread 2"));
  const pid_t program = run.program();
  EXPECT_TRUE(eventually([&] {
    const auto threads = list_threads(program);
    return std::ranges::all_of(threads, [](pid_t thread) { return tracer_of(thread) == 0; });
  }));
  EXPECT_EQ(list_threads(program).size(), 4U);
  // Lets births since then be found, if there are any.
  EXPECT_TRUE(sleeps_again(run.process(), several_rounds));
  kill(run.process(), SIGTERM);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 128 + SIGTERM);
  EXPECT_EQ(ended.summary.threads.births, 4);
  EXPECT_THAT(ended.summary.birth_reason, HasSubstr("polling"));
}

// The kernel scans all traced threads whenever one of them stops.
TEST(RunProgram, BeyondAThousandThreadsTracingEndsAndTheSummarySaysWhy) {
  RunSettings settings =
      fixed(MaskPolicy::none, BirthWay::ptrace, {testing_program("static", "threads"), "1100", "0"});
  settings.scheduling_class = machine::SchedulingClass::batch;
  const TestRun run = run_to_end(settings);
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(masks_in(run.output).size(), 1101U);
  EXPECT_GT(run.summary.threads.births, 1024);
  EXPECT_THAT(run.summary.birth_reason, HasSubstr("too many threads"));
}

TEST(RunProgram, ProgramsThatTraceAreStartedByTracedOnesAllTheSame) {
  const TestRun run =
      run_to_end(fixed(MaskPolicy::none, BirthWay::ptrace,
                       {"/bin/sh", "-c", testing_program("dynamic", "tracing") + "; exit $?"}));
  EXPECT_EQ(run.status, 0) << run.output << run.errors;
  EXPECT_THAT(run.summary.notes, testing::Contains(HasSubstr("traces programs itself")));
}

TEST(RunProgram, AttachedItGoesOnWhenItTracesNoMore) {
  const pid_t program = fork();
  if (program == 0) {
    const std::string path = testing_program("dynamic", "threads");
    close(1);
    execl(path.c_str(), path.c_str(), "2", "30", nullptr);
    _exit(1);
  }
  ASSERT_TRUE(eventually([program] { return list_threads(program).size() == 3; }));
  RunSettings settings = fixed(MaskPolicy::none, BirthWay::ptrace, {});
  settings.attach = program;
  settings.scheduling_class = machine::SchedulingClass::batch;
  settings.hand_over_ns = 50'000'000;
  TestProcess run(settings);
  ASSERT_TRUE(eventually([program] { return is_in_class_batch(program); }));
  ASSERT_TRUE(eventually([program] { return tracer_of(program) == 0; }));
  EXPECT_TRUE(sleeps_again(run.process(), several_rounds));
  EXPECT_TRUE(is_in_class_batch(program));
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
  const TestRun ended = run.finish();
  EXPECT_EQ(ended.status, 0) << "it sees that there is nothing left";
  EXPECT_EQ(ended.summary.birth, BirthWay::ptrace);
  EXPECT_THAT(ended.summary.birth_reason, HasSubstr("polling since"));
}

}  // namespace
}  // namespace millrace::placement
