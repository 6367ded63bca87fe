#include "millrace/base/error/clock.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/intensity/sample/mapped_file.h"
#include "millrace/intensity/sample/program_code.h"
#include "millrace/intensity/watch/intensity_watch.h"
#include "millrace/intensity/watch/watch_pace.h"
#include "millrace/machine/topology/test_machines.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/wait.h>

namespace millrace::intensity {
namespace {

using machine::SharedUnit;

TEST(MappedFile, IsFoundByAddress) {
  const std::string maps =
      "5581d000-5581e000 r--p 00000000 08:01 1234                       /usr/bin/my program\n"
      "5581e000-55820000 r-xp 00001000 08:01 1234                       /usr/bin/my program\n"
      "7f000000-7f001000 rwxp 00000000 00:00 0 \n"
      "7ffd1000-7ffd3000 r-xp 00000000 00:00 0                          [vdso]\n";
  const auto found = mapped_file(maps, 0x5581f010);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "/usr/bin/my program");
  EXPECT_EQ(found->inode, 1234U);
  EXPECT_EQ(found->offset, 0x2010U);
  EXPECT_FALSE(mapped_file(maps, 0x55820000));  // after the mapping
  EXPECT_FALSE(mapped_file(maps, 0x7f000800));  // generated code
  EXPECT_FALSE(mapped_file(maps, 0x7ffd1000));
}

TEST(MappedFile, IsNoneInWhateverElseIsThere) {
  for (const char* text :
       {"", "\n\n", "-", "5581d000", "zz-yy r-xp 0 0 0 /x", "1000-2000", "1000-2000 r-xp x y z /a",
        "1000-ffffffffffffffffff r-xp 0 0 1 /x", "1000-2000 r-xp 0 08:01 -1 /x"})
    EXPECT_FALSE(mapped_file(text, 0x1000)) << text;
}

TEST(CodeOfAProgram, IsWhatItHasInMemory) {
  const auto address = reinterpret_cast<std::uint64_t>(&mapped_file);
  const std::uint64_t start = address - address % CodeBytes::page_bytes;
  CodeBytes::Page page{};
  ASSERT_TRUE(read_code_page(gettid(), start, page));
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  EXPECT_EQ(std::memcmp(page.data(), reinterpret_cast<const void*>(start), page.size()), 0);
  EXPECT_FALSE(read_code_page(gettid(), 0, page));
}

std::vector<std::byte> record(std::uint32_t type, std::uint16_t misc, const std::string& content) {
  const perf_event_header header{.type = type,
                                 .misc = misc,
                                 .size =
                                     static_cast<std::uint16_t>(sizeof(perf_event_header) + content.size())};
  std::vector<std::byte> bytes(header.size);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), content.data(), content.size());
  return bytes;
}

TEST(Records, AreReadWholeOrNotAtAll) {
  // The kernel's order: the register ABI, then rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, rip, r8 to r15.
  std::vector<std::uint64_t> values{PERF_SAMPLE_REGS_ABI_64};
  for (std::uint64_t i = 0; i < 17; ++i)
    values.push_back(100 + i);
  std::string content(values.size() * 8, '\0');
  std::memcpy(content.data(), values.data(), content.size());
  auto records = record(PERF_RECORD_SAMPLE, 0, content);
  const auto name = record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
                           std::string(8, '\1') + "renamed" + std::string(3, '\0'));
  const auto lost = record(PERF_RECORD_LOST, 0, std::string("\0\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 16));
  records.insert(records.end(), name.begin(), name.end());
  records.insert(records.end(), lost.begin(), lost.end());
  std::vector<Sample> samples;
  std::vector<std::string> names;
  const SampleReader reader{.sampled = [&](const Sample& sample) { samples.push_back(sample); },
                            .named =
                                [&](const std::string& told, bool executed) {
                                  EXPECT_TRUE(executed);
                                  names.push_back(told);
                                }};
  EXPECT_EQ(read_records(records, reader), 7);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].instruction, 108U);
  EXPECT_EQ(samples[0].registers,
            (Registers{100, 102, 103, 101, 107, 106, 104, 105, 109, 110, 111, 112, 113, 114, 115, 116}));
  EXPECT_EQ(names, std::vector<std::string>{"renamed"});
  for (std::size_t size = 0; size < records.size(); ++size)
    EXPECT_LE(read_records(std::span(records).first(size), reader), 7);
}

TEST(Pace, IsSlowerTheMoreThereIs) {
  EXPECT_EQ(samples_for_each_second(2), 97);
  EXPECT_EQ(samples_for_each_second(50), 20);
  EXPECT_EQ(samples_for_each_second(1000), 11);
  EXPECT_EQ(share_of_time(0), 1);
  EXPECT_EQ(share_of_time(2000), 1);
  EXPECT_DOUBLE_EQ(share_of_time(20000), 0.1);
}

TEST(Caches, AreThoseOfTheTopology) {
  const auto topology = machine::Topology::from_synthetic(
      {.description = "pack:1 l3:2(size=16777216) l2:2(size=524288) l1:1(size=32768) core:1 pu:2"});
  ASSERT_TRUE(topology) << topology.error().message;
  const CacheSizes sizes = caches_of(*topology, {});
  EXPECT_EQ(sizes.l1, 32768);
  EXPECT_EQ(sizes.l2, 524288);
  EXPECT_EQ(sizes.llc, 16777216);
}

#ifdef MILLRACE_KINDS

SharedUnit greatest(const machine::Demand& demand) {
  return *std::ranges::max_element(machine::all_shared_units, {},
                                   [&](SharedUnit unit) { return demand[unit]; });
}

std::vector<LivingThread> threads_of(pid_t process) {
  std::vector<LivingThread> threads;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone))
    threads.push_back({static_cast<pid_t>(std::stoi(entry.path().filename())), process});
  return threads;
}

// Watches the program to its end.
void watch_kinds(IntensityWatch& watch, const std::vector<std::string>& arguments) {
  const pid_t program = fork();
  if (program == 0) {
    std::vector<char*> values{const_cast<char*>("kinds")};
    for (const std::string& argument : arguments)
      values.push_back(const_cast<char*>(argument.c_str()));
    values.push_back(nullptr);
    execv(MILLRACE_KINDS, values.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(program, &status, WNOHANG) == 0) {
    watch.look(threads_of(program), now_ns());
    usleep(20'000);
  }
  watch.look({}, now_ns());
  ASSERT_EQ(status, 0);
}

std::map<std::string, ThreadIntensity> by_name(const IntensityWatch& watch) {
  std::map<std::string, ThreadIntensity> threads;
  for (ThreadIntensity& thread : watch.threads())
    threads[thread.name] = std::move(thread);
  return threads;
}

class Watch : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_sampling(); !why.empty()) GTEST_SKIP() << why;
  }
  CacheSizes caches_{.l1 = 32 << 10, .l2 = 512 << 10, .llc = 16 << 20};
};

// For a while, this is the state of each thread of a program with short-lived threads.
TEST_F(Watch, MissesNothingOfAThreadThatHasEndedAndIsStillListed) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t told{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &told, WEXITED | WNOWAIT), 0);
  for (const std::size_t remember : {0U, 10U}) {
    IntensityWatch watch(caches_, 2, remember);
    watch.look(std::vector<LivingThread>{{ended, ended}}, now_ns());
    EXPECT_EQ(watch.missing(), "");
  }
  waitpid(ended, nullptr, 0);
}

TEST_F(Watch, TellsWhatTheThreadsOfAnotherProgramUse) {
  IntensityWatch watch(caches_, 2);
  watch_kinds(watch, {"0.3", "int", "fp", "sad", "jit", "chase:40M", "bytes:64M", "sleep"});
  EXPECT_EQ(watch.source(), Source::samples);
  EXPECT_EQ(watch.missing(), "");
  auto threads = by_name(watch);
  for (const auto& [name, unit] :
       {std::pair{"int", SharedUnit::integer}, std::pair{"fp", SharedUnit::fp},
        std::pair{"sad", SharedUnit::simd}, std::pair{"jit", SharedUnit::fp},
        std::pair{"chase:40M", SharedUnit::dram}, std::pair{"bytes:64M", SharedUnit::dram}}) {
    const ThreadIntensity& thread = threads[name];
    EXPECT_TRUE(thread.ended) << name;
    ASSERT_TRUE(thread.demand) << name << ": " << thread.samples << " samples";
    EXPECT_TRUE(check(*thread.demand)) << name;
    EXPECT_EQ(name_of(greatest(*thread.demand)), name_of(unit)) << name;
  }
  EXPECT_FALSE(threads["sleep"].demand);
}

TEST_F(Watch, SeesWhichThreadsWorkOnTheSameData) {
  IntensityWatch watch(caches_, 2);
  watch_kinds(watch,
              {"1", "shared:16M", "shared:16M", "random:16M"});  // few samples a second on a busy machine
  std::map<pid_t, std::string> names;
  for (const ThreadIntensity& thread : watch.threads())
    names[thread.thread] = thread.name;
  const std::vector<DataOverlap> overlaps = watch.overlaps();
  ASSERT_EQ(overlaps.size(), 1U);
  EXPECT_EQ(names[overlaps[0].first], "shared:16M");
  EXPECT_EQ(names[overlaps[0].second], "shared:16M");
  EXPECT_NEAR(overlaps[0].share, 1, 0.2);
}

TEST_F(Watch, OfAThreadThatIsGoneSaysNothing) {
  IntensityWatch watch(caches_, 2);
  constexpr pid_t nobody = 4'194'300;
  const std::vector<LivingThread> living{{nobody, nobody}};
  watch.look(living, now_ns());
  EXPECT_TRUE(watch.threads().empty());
  EXPECT_EQ(watch.missing(), "");
  EXPECT_TRUE(watch.overlaps().empty());
}

TEST_F(Watch, PausesForProgramsThatSwitchOften) {
  IntensityWatch watch(caches_, 2);
  constexpr double often = 200'000;
  const std::vector<LivingThread> self{{gettid(), getpid()}};
  std::int64_t now = 10 * IntensityWatch::interval_ns;
  for (int i = 0; i < 2; ++i, now += IntensityWatch::interval_ns)
    watch.look(self, now, often);
  const auto samples = [&] { return watch.threads().at(0).samples; };
  const auto compute = [] {
    for (const std::int64_t begun = now_ns(); now_ns() - begun < 60'000'000;)
      continue;
  };
  const std::int64_t before = samples();
  compute();
  watch.look(self, now, often);
  EXPECT_EQ(samples(), before);
  watch.look(self, now, 0);
  EXPECT_TRUE(eventually([&] {
    compute();
    watch.look(self, ++now, 0);
    return samples() > before;
  }));
}

#endif

}  // namespace
}  // namespace millrace::intensity
