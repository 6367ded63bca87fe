#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/intensity/sample/thread_sampler.h"
#include "millrace/placement/daemon/daemon_testing.h"
#include "millrace/placement/daemon/other_tuner.h"
#include "millrace/placement/daemon/unit_daemon.h"
#include "millrace/placement/task/control_group_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using nlohmann::json;
using testing::HasSubstr;

class UnitDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    if (machine::current_thread_affinity()->count() < 2) GTEST_SKIP() << "one CPU";
  }
  void begin(const DaemonSettings& settings) {
    auto made = UnitDaemon::begin(
        {.settings = settings, .state = folder_ / "state", .topology = two_cores, .trials = {}});
    ASSERT_TRUE(made) << made.error().message;
    daemon_ = std::move(*made);
  }
  json ask(std::string_view method, const json& parameters, const Descriptor& process = {},
           uid_t user = geteuid()) {
    std::string line = daemon_request_line(method, parameters);
    line.pop_back();
    const std::string reply = daemon_->answer(line, {.process = getpid(), .user = user}, process);
    EXPECT_TRUE(reply.ends_with('\n'));
    EXPECT_EQ(reply.find('\n'), reply.size() - 1);
    return json::parse(reply);
  }
  json watch(pid_t process, uid_t user = geteuid()) {
    return ask("Watch", {{"pid", process}}, open_process(process), user);
  }
  static std::string message_of(const json& reply) { return reply.at("parameters").at("message"); }
  void tick() {
    if (const auto next = daemon_->next_ns(); next && *next <= now_ns()) daemon_->tick(now_ns());
  }
  json only_program() { return daemon_->status(geteuid(), true).at("programs").at(0); }

  TemporaryFolder folder_;
  std::unique_ptr<UnitDaemon> daemon_;
};

CpuSet mask_of(const ForkedProcess& process) { return machine::thread_affinity(process.number()).value(); }

TEST_F(UnitDaemonTest, ObservesWhatThreadsUseAndTouchesNothing) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  begin({});
  EXPECT_EQ(daemon_->next_ns(), std::nullopt);  // without work, nothing is scheduled
  const ForkedProcess process(compute_floats);
  const json watched = watch(process.number());
  ASSERT_TRUE(watched.contains("parameters")) << watched;
  EXPECT_EQ(watched["parameters"]["acts"], false);
  EXPECT_EQ(watch(process.number())["parameters"]["program"], watched["parameters"]["program"]);
  EXPECT_TRUE(eventually([&] {
    tick();
    return !only_program()["demand"].is_null();
  }));
  const json program = only_program();
  EXPECT_GT(program["demand"]["fp"].get<double>(), 0.2);  // less in code compiled without optimisation
  EXPECT_EQ(program["state"], "observed");
  EXPECT_EQ(program["moves"], 0);
  EXPECT_EQ(program["thread_list"][0]["thread"], process.number());
  EXPECT_EQ(mask_of(process), machine::current_thread_affinity().value());
  EXPECT_EQ(ask("Explain", {{"program", std::to_string(process.number())}})["parameters"]["programs"].size(),
            1);
  EXPECT_EQ(ask("Unwatch", {{"pid", process.number()}})["parameters"]["ended"], 1);
  EXPECT_EQ(daemon_->next_ns(), std::nullopt);
}

TEST_F(UnitDaemonTest, PlacesThreadsOfSeveralProgramsAndGivesBackWhatTheyHad) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  begin(acting_at_once());
  const ForkedProcess one(compute_floats);
  const ForkedProcess other(compute_floats);
  ASSERT_EQ(watch(one.number())["parameters"]["acts"], true);
  ASSERT_EQ(watch(other.number())["parameters"]["acts"], true);
  const auto apart = [&] {
    tick();
    return mask_of(one).count() == 1 && mask_of(other).count() == 1 && mask_of(one) != mask_of(other);
  };
  EXPECT_TRUE(eventually(apart));
  EXPECT_EQ(only_program()["state"], "placed at once");
  EXPECT_EQ(only_program()["thread_list"][0]["kept_on"], mask_of(one).to_string());
  const CpuSet all = machine::current_thread_affinity().value();
  EXPECT_EQ(ask("Pause", json::object())["parameters"]["programs"], 2);
  EXPECT_EQ(mask_of(one), all);
  EXPECT_EQ(mask_of(other), all);
  EXPECT_THAT(only_program()["reason"].get<std::string>(), HasSubstr("Only observed"));
  EXPECT_EQ(ask("Pause", {{"resume", true}})["parameters"]["programs"], 2);
  EXPECT_TRUE(eventually(apart));
  EXPECT_EQ(ask("Unwatch", {{"pid", other.number()}})["parameters"]["ended"], 1);
  EXPECT_EQ(mask_of(other), all);
  EXPECT_GE(daemon_->end().threads, 1);
  EXPECT_EQ(mask_of(one), all);
  EXPECT_TRUE(is_left_empty(folder_.path()));
}

TEST_F(UnitDaemonTest, PlacesProgramsAnewWhoseCpusetShrinksAndGrowsAgain) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  const CpuSet all = machine::current_thread_affinity().value();
  const CpuSet one{all.lowest()};
  const auto cpuset = TestingGroup::make("cpuset");
  if (!cpuset) GTEST_SKIP() << "no cpusets can be made here";
  ASSERT_TRUE(cpuset->allow(all));
  begin(acting_at_once());
  const ForkedProcess first(compute_floats_beside_another);
  const ForkedProcess second(compute_floats_beside_another);
  for (const ForkedProcess* process : {&first, &second}) {
    ASSERT_TRUE(cpuset->take_in(process->number()));
    ASSERT_TRUE(watch(process->number()).contains("parameters"));
  }
  const auto apart = [&] {
    tick();
    return mask_of(first).count() == 1 && mask_of(second).count() == 1 && mask_of(first) != mask_of(second);
  };
  ASSERT_TRUE(eventually(apart));
  ASSERT_TRUE(cpuset->allow(one));
  ASSERT_TRUE(eventually([&] {
    tick();
    return only_program()["allowed"] == one.to_string();
  }));
  ASSERT_TRUE(cpuset->allow(all));
  EXPECT_TRUE(eventually(apart));
  EXPECT_EQ(only_program()["allowed"], all.to_string());
  ASSERT_TRUE(cpuset->allow(one));
  daemon_->end();
  ASSERT_TRUE(cpuset->allow(all));
  EXPECT_EQ(mask_of(first), all);
  EXPECT_EQ(mask_of(second), all);
}

TEST_F(UnitDaemonTest, LeavesThreadsAloneThatHaveChosenForThemselves) {
  begin(acting_at_once());
  const int chosen = machine::current_thread_affinity()->lowest();
  const ForkedProcess process([] {
    usleep(1000);
    compute_floats();
  });
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  ASSERT_TRUE(machine::bind_thread(process.number(), {chosen}));
  for (int look = 0; look < 10; ++look)  // changes by others are looked for at every tenth look
    daemon_->tick(now_ns());
  EXPECT_EQ(only_program()["left_alone"], 1);
  daemon_->end();
  EXPECT_EQ(mask_of(process), CpuSet{chosen});
}

// logind removes /run/user/UID in this way under a daemon that was started by hand.
TEST_F(UnitDaemonTest, TellsAnewWhatToUndoWhereThatWasRemoved) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  begin(acting_at_once());
  const ForkedProcess one(compute_floats_beside_another);
  const ForkedProcess other(compute_floats_beside_another);
  ASSERT_TRUE(watch(one.number()).contains("parameters"));
  ASSERT_TRUE(watch(other.number()).contains("parameters"));
  const auto apart = [&] {
    tick();
    return mask_of(one).count() == 1 && mask_of(other).count() == 1;
  };
  ASSERT_TRUE(eventually(apart));
  std::filesystem::remove_all(folder_ / "state");
  EXPECT_TRUE(eventually([&] { return apart() && processes_told_of(folder_ / "state") == 2; }));
  // Without a folder nothing is changed any longer.
  std::filesystem::remove_all(folder_ / "state");
  make_file(folder_ / "state", "");
  const CpuSet all = machine::current_thread_affinity().value();
  daemon_->tick(now_ns() + 2'000'000'000);
  EXPECT_EQ(mask_of(one), all);
  EXPECT_EQ(mask_of(other), all);
  EXPECT_THAT(only_program()["trouble"].get<std::string>(), HasSubstr("state' is not a folder"));
  EXPECT_THAT(only_program()["reason"].get<std::string>(),
              HasSubstr("Only observed: what would be changed could not be undone"));
  EXPECT_EQ(only_program()["state"], "observed");
}

TEST_F(UnitDaemonTest, KnowsAProgramByWhatItExecutesNow) {
  DaemonSettings settings;
  settings.exclude.push_back({.exe = "*/sleep", .cgroup = {}});
  begin(settings);
  const auto executing = [&](const char* program, const char* first, const char* second) {
    return [when = folder_ / "now", program, first, second] {
      if (std::filesystem::exists(when)) execlp(program, program, first, second, nullptr);
      usleep(1000);
    };
  };
  const ForkedProcess fine(executing("tail", "-f", "/dev/null"));
  const ForkedProcess excluded(executing("sleep", "60", "0"));
  ASSERT_TRUE(watch(fine.number()).contains("parameters"));
  ASSERT_TRUE(watch(excluded.number()).contains("parameters"));
  make_file(folder_ / "now", "");
  std::int64_t ahead_ns = 0;
  EXPECT_TRUE(eventually([&] {
    daemon_->tick(now_ns() + (ahead_ns += 1'000'000'000));
    const json programs = daemon_->status(geteuid(), false)["programs"];
    return programs.size() == 1 && programs[0]["pid"] == fine.number() &&
           programs[0]["exe"].get<std::string>().ends_with("/tail");
  }));
}

TEST_F(UnitDaemonTest, LeavesAProcessAloneOnceItIsAnotherUsers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes somebody else";
  begin({});
  constexpr uid_t nobody = 65534;
  const ForkedProcess process([&] {
    if (std::filesystem::exists(folder_ / "now") && setresuid(nobody, nobody, nobody) != 0) _exit(1);
    usleep(1000);
  });
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  chmod(folder_.path().c_str(), 0755);
  make_file(folder_ / "now", "");
  std::int64_t ahead_ns = 0;
  EXPECT_TRUE(eventually([&] {
    daemon_->tick(now_ns() + (ahead_ns += 1'000'000'000));
    return daemon_->status(geteuid(), false)["programs"].empty();
  }));
}

TEST_F(UnitDaemonTest, WatchesNoProcessForSomebodyElse) {
  begin({});
  const ForkedProcess process;
  const uid_t stranger = geteuid() + 1;
  const json reply = watch(process.number(), stranger);
  EXPECT_EQ(reply["error"], "org.millrace.daemon1.NotPermitted");
  EXPECT_THAT(message_of(reply), HasSubstr("does not belong to user " + std::to_string(stranger)));
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  // Nor does it report the program, or let the stranger end or pause it.
  EXPECT_TRUE(daemon_->status(stranger, true)["programs"].empty());
  EXPECT_EQ(ask("Explain", {{"program", std::to_string(process.number())}}, {}, stranger)["error"],
            "org.millrace.daemon1.NotFound");
  EXPECT_TRUE(ask("Unwatch", {{"pid", process.number()}}, {}, stranger).contains("error"));
  EXPECT_TRUE(ask("Pause", {{"pid", process.number()}}, {}, stranger).contains("error"));
  EXPECT_TRUE(ask("Pause", json::object(), {}, stranger).contains("error"));
  EXPECT_EQ(daemon_->status(geteuid(), false)["programs"].size(), 1);
}

TEST_F(UnitDaemonTest, WatchesNoProcessThatItsDescriptorDoesNotMean) {
  begin({});
  const ForkedProcess process;
  const ForkedProcess other;
  EXPECT_THAT(message_of(ask("Watch", {{"pid", process.number()}})), HasSubstr("must come with the line"));
  EXPECT_THAT(message_of(ask("Watch", {{"pid", process.number()}}, open_process(other.number()))),
              HasSubstr("does not mean process"));
  EXPECT_THAT(message_of(ask("Watch", {{"pid", process.number()}}, Descriptor::borrowed(0))),
              HasSubstr("does not mean process"));
  Descriptor ended;
  pid_t number = 0;
  {
    const ForkedProcess brief;
    number = brief.number();
    ended = open_process(number);
  }
  EXPECT_TRUE(ask("Watch", {{"pid", number}}, ended).contains("error"));
  EXPECT_TRUE(watch(getpid()).contains("error"));
  EXPECT_TRUE(daemon_->status(geteuid(), false)["programs"].empty());
}

TEST_F(UnitDaemonTest, WatchesNothingThatIsExcludedOrFollowedByAnother) {
  DaemonSettings settings;
  settings.exclude.push_back({.exe = traits_of(getpid())->exe, .cgroup = {}});
  begin(settings);
  const ForkedProcess process;
  EXPECT_EQ(watch(process.number())["error"], "org.millrace.daemon1.Excluded");
  begin({});
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  auto second =
      UnitDaemon::begin({.settings = {}, .state = folder_ / "state", .topology = two_cores, .trials = {}});
  ASSERT_TRUE(second);
  std::swap(daemon_, *second);
  EXPECT_THAT(message_of(watch(process.number())), HasSubstr("followed by another millrace"));
}

TEST_F(UnitDaemonTest, FindsProcessesByWhatTheyExecute) {
  begin({});
  const ForkedProcess process;
  // A private copy, because other tests may run the same program.
  const std::string copy = folder_ / "sleeps";
  std::filesystem::copy_file("/bin/sleep", copy);
  const ForkedProcess sleeping([&] { execl(copy.c_str(), "sleeps", "60", nullptr); });
  EXPECT_EQ(ask("Watch", {{"exe", "*/sleeps"}})["parameters"]["rule"], "*/sleeps");
  EXPECT_TRUE(eventually([&] {
    tick();
    return !daemon_->status(geteuid(), false)["programs"].empty();
  }));
  EXPECT_EQ(only_program()["pid"], sleeping.number());
  EXPECT_EQ(daemon_->status(geteuid(), false)["programs"].size(), 1);
  // An unwatched process is not found again, but can be requested.
  EXPECT_EQ(ask("Unwatch", {{"pid", sleeping.number()}})["parameters"]["ended"], 1);
  daemon_->tick(now_ns() + 10'000'000'000);
  EXPECT_TRUE(daemon_->status(geteuid(), false)["programs"].empty());
  EXPECT_TRUE(watch(sleeping.number()).contains("parameters"));
  EXPECT_EQ(ask("Unwatch", {{"exe", "*/sleeps"}})["parameters"]["ended"], 2);  // includes the rule
  EXPECT_TRUE(daemon_->status(geteuid(), false)["rules"].empty());
}

TEST_F(UnitDaemonTest, FollowsTheProcessesThatAProgramMakesAndItsEnd) {
  begin({});
  auto maker = std::make_unique<ForkedProcess>([] {
    const pid_t parent = getpid();
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);  // it was killed before the line above
      pause();
    }
    pause();
  });
  ASSERT_TRUE(watch(maker->number()).contains("parameters"));
  EXPECT_TRUE(eventually([&] {
    tick();
    return only_program()["threads"] == 2;
  }));
  maker.reset();
  EXPECT_TRUE(eventually([&] {
    tick();
    return daemon_->status(geteuid(), false)["programs"].empty();
  }));
}

TEST_F(UnitDaemonTest, TellsOfNamesWhatATerminalMayShow) {
  begin({});
  const ForkedProcess process([] {
    prctl(PR_SET_NAME, "\x1b[2J\nx\xff");
    pause();
  });
  ASSERT_TRUE(
      eventually([&] { return read_task_stat(process.number(), process.number())->name[0] == '\x1b'; }));
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  EXPECT_EQ(only_program()["name"], "\\x1b[2J\\x0ax\\xff");
  EXPECT_EQ(daemon_->status(geteuid(), true).dump().find('\x1b'), std::string::npos);
}

TEST_F(UnitDaemonTest, WithoutAFolderToKeepJournalsInOnlyObserves) {
  if (const std::string why = intensity::why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  auto made = UnitDaemon::begin(
      {.settings = acting_at_once(), .state = "/proc/no/such/folder", .topology = two_cores, .trials = {}});
  ASSERT_TRUE(made);
  daemon_ = std::move(*made);
  const ForkedProcess process(compute_floats);
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  EXPECT_TRUE(eventually([&] {
    tick();
    return !only_program()["demand"].is_null();
  }));
  daemon_->tick(now_ns());
  EXPECT_THAT(only_program()["trouble"].get<std::string>(), HasSubstr("nothing is changed"));
  EXPECT_THAT(daemon_->lacks(), testing::Contains(HasSubstr("places nothing")));
  EXPECT_EQ(mask_of(process), machine::current_thread_affinity().value());
}

TEST_F(UnitDaemonTest, WatchesNoThreadOfTheKernel) {
  if (geteuid() != 0) GTEST_SKIP() << "the kernel's threads are root's";
  pid_t thread = 0;
  for (pid_t process = 2; thread == 0 && process < 200; ++process)
    if (const auto stat = read_task_stat(process, process); stat && stat->of_kernel()) thread = process;
  if (thread == 0) GTEST_SKIP() << "none is to be seen here";
  begin({});
  const CpuSet before = machine::thread_affinity(thread).value();
  EXPECT_THAT(message_of(watch(thread)), HasSubstr("is a thread of the kernel"));
  EXPECT_EQ(machine::thread_affinity(thread).value(), before);
  EXPECT_TRUE(daemon_->status(0, false)["programs"].empty());
}

TEST_F(UnitDaemonTest, ReadsTheMachineAnewWhenCpusComeOrGo) {
  const std::string online = folder_ / "sys/devices/system/cpu/online";
  std::filesystem::create_directories(std::filesystem::path(online).parent_path());
  make_file(online, "0-1\n");
  int cores = 2;
  auto made = UnitDaemon::begin(
      {.settings = {},
       .state = folder_ / "state",
       .topology = [&]() -> Result<machine::Topology> {
         if (cores == 2) return two_cores();
         if (cores == 0) return failure("not now");
         return machine::Topology({.cores = {{0}}, .core_kinds = {}, .architecture = {}, .hypervisor = {}});
       },
       .system = folder_ / "sys",
       .trials = {}});
  ASSERT_TRUE(made) << made.error().message;
  daemon_ = std::move(*made);
  const ForkedProcess process;
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  const auto groups_after = [&](int seconds) {
    daemon_->tick(now_ns() + seconds * 1'000'000'000LL);
    return daemon_->status(geteuid(), false)["groups"].size();
  };
  cores = 1;
  EXPECT_EQ(groups_after(10), 2);  // the list of online CPUs has not changed
  make_file(online, "0\n");
  cores = 0;
  EXPECT_EQ(groups_after(20), 2);  // an unreadable topology is read again next time
  cores = 1;
  EXPECT_EQ(groups_after(30), 1);
  EXPECT_EQ(daemon_->status(geteuid(), false)["programs"].size(), 1);
}

TEST_F(UnitDaemonTest, JoinsAProgramAnewThatIsConfinedOtherwise) {
  const auto group = TestingGroup::make("cpuset");
  if (!group) GTEST_SKIP() << "no cpusets can be made here";
  const CpuSet all = machine::current_thread_affinity().value();
  const CpuSet one = all.first(1);
  ASSERT_TRUE(group->allow(one));
  begin({});
  const ForkedProcess process;
  ASSERT_TRUE(watch(process.number()).contains("parameters"));
  EXPECT_EQ(only_program()["allowed"], all.to_string());
  ASSERT_TRUE(group->take_in(process.number()));
  std::int64_t now = now_ns();
  const auto a_second_later = [&] { daemon_->tick(now += 1'000'000'000); };
  a_second_later();
  EXPECT_EQ(only_program()["allowed"], all.to_string()) << "more may change at the same time";
  a_second_later();
  EXPECT_EQ(only_program()["allowed"], one.to_string());
  EXPECT_EQ(only_program()["pid"], process.number());
  // The group goes on with other CPUs.
  ASSERT_TRUE(group->allow(all));
  a_second_later();
  a_second_later();
  EXPECT_EQ(only_program()["allowed"], all.to_string());
  daemon_->end();
}

TEST_F(UnitDaemonTest, KnowsAControlGroupByItsPathInTheHierarchy) {
  begin({});
  for (const char* path : {"/", "//", "/sys/fs/cgroup/"}) {
    const json reply = ask("Watch", {{"cgroup", path}});
    if (reply.value("error", "") == "org.millrace.daemon1.NotFound") GTEST_SKIP() << "no control groups here";
    EXPECT_EQ(reply["parameters"]["name"], "/") << path;
    EXPECT_EQ(only_program()["cgroup"], "/") << path;
    EXPECT_TRUE(ask("Unwatch", {{"cgroup", path}}).contains("parameters")) << path;
  }
}

TEST_F(UnitDaemonTest, ExcludesAControlGroupWhateverWayItIsAskedFor) {
  DaemonSettings settings;
  settings.exclude.push_back({.exe = {}, .cgroup = "/"});
  begin(settings);
  for (const char* path : {"/", "//", "/./", "/sys/fs/cgroup/"}) {
    const json reply = ask("Watch", {{"cgroup", path}});
    if (reply.value("error", "") == "org.millrace.daemon1.NotFound") GTEST_SKIP() << "no control groups here";
    EXPECT_EQ(reply["error"], "org.millrace.daemon1.Excluded") << path;
  }
}

TEST_F(UnitDaemonTest, LeavesAloneInAGroupAndBelowAProcessWhatIsExcludedAndItself) {
  const auto group = TestingGroup::make("pids");
  if (!group) GTEST_SKIP() << "no control groups can be made here";
  {
    DaemonSettings settings;
    settings.exclude.push_back({.exe = "*/sleep", .cgroup = {}});
    begin(settings);
    // A parent, and a child that executes an excluded program.
    const ForkedProcess parent([] {
      if (fork() == 0) execlp("sleep", "sleep", "60", nullptr);
      pause();
    });
    const std::string children =
        "/proc/" + std::to_string(parent.number()) + "/task/" + std::to_string(parent.number()) + "/children";
    pid_t child = 0;
    ASSERT_TRUE(eventually([&] {
      child = static_cast<pid_t>(std::atoi(content_of(children).c_str()));
      const auto stat = child > 0 ? read_task_stat(child, child) : std::nullopt;
      return stat && stat->name == "sleep";
    }));
    ASSERT_TRUE(watch(parent.number()).contains("parameters"));
    EXPECT_EQ(only_program()["threads"], 1);
    EXPECT_TRUE(ask("Unwatch", {{"pid", parent.number()}}).contains("parameters"));
    for (const pid_t member : {parent.number(), child, getpid()})
      ASSERT_TRUE(group->take_in(member));
    ASSERT_TRUE(ask("Watch", {{"cgroup", group->path()}}).contains("parameters"));
    EXPECT_EQ(only_program()["threads"], 1);
    EXPECT_EQ(only_program()["thread_list"][0]["process"], parent.number());
    daemon_->end();
    EXPECT_TRUE(group->let_out(getpid()));
    kill(child, SIGKILL);
  }
}

TEST(OtherTuner, IsASchedulerThatIsLoadedOrNumadOfWhoIsTrusted) {
  const TemporaryFolder folder;
  const auto found = [&] { return other_tuner(folder / "sys", folder / "proc"); };
  EXPECT_EQ(found(), "");
  std::filesystem::create_directories(folder / "proc/17");
  std::filesystem::create_directories(folder / "proc/version");
  make_file(folder / "proc/17/comm", "numadx\n");
  EXPECT_EQ(found(), "");
  make_file(folder / "proc/17/comm", "numad\n");
  EXPECT_THAT(found(), HasSubstr("numad is running (process 17)"));
  if (chown((folder / "proc/17").c_str(), geteuid() + 1, getegid()) == 0) {
    EXPECT_EQ(found(), "");  // any process can have that name
  }
  std::filesystem::create_directories(folder / "sys/kernel/sched_ext");
  make_file(folder / "sys/kernel/sched_ext/state", "disabled\n");
  EXPECT_EQ(other_tuner(folder / "sys", folder / "none"), "");
  make_file(folder / "sys/kernel/sched_ext/state", "enabled\n");
  EXPECT_THAT(found(), HasSubstr("sched_ext"));
}

}  // namespace
}  // namespace millrace::placement
