#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/kernel_compiler.h"
#include "millrace/image/kernel/kernel_compiler_testing.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <csignal>
#include <future>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::image {
namespace {

using namespace std::chrono_literals;
using Kind = CompileFailure::Kind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr machine::Isa plain_isa = machine::Isa::baseline;

class KernelCompilers : public ::testing::Test {
 protected:
  [[nodiscard]] auto compile(KernelCompiler& compiler,
                             const KernelSpec& spec = kernel_chain({"blur", "binary"})) {
    return compiler.compile(spec, plain_isa, forever_);
  }

  // Runs a compiler's process that hangs until `stop_` stops it, and lets `look` inspect it.
  void hang(const KernelCompilerOptions& options, Urgency urgency,
            const std::function<void(pid_t process)>& look) {
    KernelCompiler compiler(options, urgency);
    auto compiled = std::async(std::launch::async, [&] {
      return compiler.compile(kernel_chain({"blur", "binary"}), plain_isa, stop_);
    });
    std::vector<pid_t> children;
    ASSERT_TRUE(eventually([&] {
      children = children_of(getpid());
      return !children.empty() && status_of(children[0], "Name") == "hanging";
    }));
    look(children[0]);
    stop_.stop();
    const auto outcome = compiled.get();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().kind, Kind::cancelled);
    EXPECT_FALSE(compiler.running());
    EXPECT_THAT(children_of(getpid()), IsEmpty()) << "neither running nor a zombie";
  }

  const TemporaryFolder folder_;
  const StoppableWait forever_;
  const StoppableWait stop_;
};

// Includes instruction sets that this processor lacks: the loader must handle everything the compiler
// generates.
TEST_F(KernelCompilers, makeWhatCanBeLoadedForEveryInstructionSet) {
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::urgent);
  for (const machine::Isa each : machine::all_isas()) {
    for (const KernelSpec& spec :
         {kernel_chain({"rotate", "discretise"}), kernel_chain({"blur", "threshold"})}) {
      const auto object = compiler.compile(spec, each, forever_);
      ASSERT_TRUE(object) << object.error().error.message;
      const auto loaded = load_kernel(spec, *object);
      EXPECT_TRUE(loaded) << machine::name_of(each) << ": " << loaded.error().message;
    }
  }
  EXPECT_EQ(children_of(getpid()).size(), 1U) << "one process for all of them";
}

TEST_F(KernelCompilers, goOnAfterAGroupThatTheyRefuse) {
  Filter unknown = *find_filter("blur");
  unknown.name = "unknown";
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::urgent);
  const auto refused = compile(compiler, {.stages = {{.filter = &unknown, .inputs = {-1}}}, .stored = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::refused);
  EXPECT_EQ(refused.error().error.message,
            "cannot compile the fused kernel unknown(i0): there is no filter 'unknown'");
  EXPECT_TRUE(compile(compiler));
}

TEST_F(KernelCompilers, startAnewWhereTheLastProcessIsGone) {
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::background);
  ASSERT_TRUE(compile(compiler));
  const auto children = children_of(getpid());
  ASSERT_EQ(children.size(), 1U);
  kill(children[0], SIGKILL);
  ASSERT_TRUE(eventually([&] { return status_of(children[0], "State").starts_with("Z"); }));
  const auto again = compile(compiler);
  EXPECT_TRUE(again) << again.error().error.message;
  compiler.stop();
  EXPECT_THAT(children_of(getpid()), IsEmpty());
}

struct Breakdown {
  const char* behaviour;
  Kind kind;
  const char* message;  // part of it, or nullptr
  std::chrono::milliseconds time_limit = 1min;
};

class BrokenCompilers : public ::testing::TestWithParam<Breakdown> {};

TEST_P(BrokenCompilers, areAnErrorAndNothingElse) {
  const TemporaryFolder folder;
  const StoppableWait forever;
  const KernelCompilerOptions options{
      .program = stand_in(folder, GetParam().behaviour), .cpus = {}, .time_limit = GetParam().time_limit};
  KernelCompiler compiler(options, Urgency::background);
  for (int time = 0; time < 2; ++time) {
    const auto outcome = compiler.compile(kernel_chain({"blur", "binary"}), plain_isa, forever);
    if (GetParam().message == nullptr) {
      EXPECT_TRUE(outcome) << "what is in the object is for the loader to know";
      return;
    }
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().error.message, HasSubstr(GetParam().message));
    EXPECT_EQ(outcome.error().kind, GetParam().kind);
    EXPECT_THAT(children_of(getpid()), IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Image, BrokenCompilers,
    ::testing::Values(Breakdown{"none/there", Kind::not_run, "No such file"},
                      Breakdown{"is-unknown", Kind::not_run, "ended with exit code 2 before it was ready"},
                      Breakdown{"ends-at-once", Kind::not_run, "ended with exit code 3 before it was ready"},
                      Breakdown{"hangs-at-once", Kind::not_run, "did not answer in 0.1 s", 100ms},
                      Breakdown{"writes-nonsense-at-once", Kind::not_run, "wrote nonsense"},
                      Breakdown{"is-of-another-build", Kind::not_run, "another build"},
                      Breakdown{"crashes", Kind::refused, "was ended by signal 11 (Segmentation fault)"},
                      Breakdown{"ends", Kind::refused, "ended with exit code 4"},
                      Breakdown{"hangs", Kind::refused, "did not answer in 3 s", 3000ms},
                      Breakdown{"closes-and-hangs", Kind::refused, "was ended by signal 9"},
                      Breakdown{"writes-nonsense", Kind::refused, "wrote nonsense"},
                      Breakdown{"writes-half", Kind::refused, "ended with exit code 0"},
                      Breakdown{"writes-damage", Kind::refused, "came damaged"},
                      Breakdown{"says-ready-twice", Kind::refused, "wrote nonsense"},
                      Breakdown{"sends-no-object", Kind::refused, nullptr}),
    [](const auto& instance) {
      std::string name = instance.param.behaviour;
      std::erase_if(name, [](char c) { return c == '-' || c == '/'; });
      return name;
    });

TEST_F(KernelCompilers, runAtIdlePriorityInTheBackground) {
  hang({.program = stand_in(folder_, "hangs")}, Urgency::background,
       [](pid_t process) { EXPECT_EQ(sched_getscheduler(process), SCHED_IDLE); });
}

TEST_F(KernelCompilers, runAtThePriorityOfTheWorkWhereUrgent) {
  const int own = getpriority(PRIO_PROCESS, 0);
  hang({.program = stand_in(folder_, "hangs")}, Urgency::urgent, [&](pid_t process) {
    EXPECT_EQ(sched_getscheduler(process), SCHED_OTHER);
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(process)), own);
  });
}

TEST_F(KernelCompilers, inheritNoDescriptorSignalMaskHandlerOrGroup) {
  const int leaked = dup(STDERR_FILENO);  // not close-on-exec
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto ignored = std::signal(SIGUSR2, SIG_IGN);
  hang({.program = stand_in(folder_, "hangs")}, Urgency::background, [](pid_t process) {
    EXPECT_EQ(std::stoull(status_of(process, "SigBlk"), nullptr, 16), 0U);
    // Signals 32 and 33 are reserved by the C library and cannot be changed.
    EXPECT_EQ(std::stoull(status_of(process, "SigIgn"), nullptr, 16) & 0x7FFF'FFFF, 0U);
    EXPECT_EQ(getpgid(process), process) << "of the terminal's group, which an interrupt is sent to";
    std::vector<std::string> open;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", process)))
      open.push_back(entry.path().filename());
    EXPECT_THAT(open, ::testing::UnorderedElementsAre("0", "1", "2"));
  });
  std::signal(SIGUSR2, ignored);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(leaked);
}

TEST_F(KernelCompilers, runWhereTheyAreToldTo) {
  const machine::AffinityMask all = machine::mask_of_thread(0);
  machine::AffinityMask first(all.size());
  first[machine::word_of(machine::to_cpu_set(all).highest())] =
      machine::bit_of(machine::to_cpu_set(all).highest());
  hang({.program = stand_in(folder_, "hangs"), .cpus = first}, Urgency::background,
       [&](pid_t process) { EXPECT_EQ(machine::mask_of_thread(process), first); });
}

TEST_F(KernelCompilers, endWithTheProcessThatStartedThem) {
  auto report = make_pipe();
  ASSERT_TRUE(report);
  const auto program = stand_in(folder_, "hangs");
  const pid_t victim = fork();
  ASSERT_GE(victim, 0);
  if (victim == 0) {
    std::thread([&] {
      const KernelCompilerOptions options{.program = program};
      KernelCompiler compiler(options, Urgency::background);
      static_cast<void>(compiler.compile(kernel_chain({"blur"}), plain_isa, forever_));
    }).detach();
    std::vector<pid_t> started;
    while ((started = children_of(getpid())).empty() || status_of(started[0], "Name") != "hanging") {
    }
    static_cast<void>(write(report->write_end.get(), started.data(), sizeof(pid_t)));
    pause();
  }
  report->write_end.close();
  pid_t orphan = 0;
  ASSERT_EQ(read(report->read_end.get(), &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  EXPECT_TRUE(eventually([&] {
    const std::string state = status_of(orphan, "State");
    return state.empty() || state.starts_with("Z");  // the process that adopted it may be slow to reap it
  })) << status_of(orphan, "State");
}

TEST(CompiledKernel, anObjectOfSomethingElseIsAnError) {
  EXPECT_FALSE(load_kernel(kernel_chain({"blur"}), {}));
  const std::vector<std::byte> zeros(4096);
  EXPECT_FALSE(load_kernel(kernel_chain({"blur"}), zeros));
}

}  // namespace
}  // namespace millrace::image
