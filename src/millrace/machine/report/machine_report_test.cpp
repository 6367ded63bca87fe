#include "millrace/base/text/printable.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/machine/topology/test_machines.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

MachineReport report_of(const Topology& topology, const CgroupLimits& limits = {}) {
  return {topology,
          usable_cpus_from(topology.cpus(), topology.cpus(), limits),
          Isa::avx2,
          {false, "a hypothetical reason that is long enough to be broken into more than one line of text"},
          "Linux 6.1.0"};
}

class ReportText : public testing::TestWithParam<Topology (*)()> {};

TEST_P(ReportText, FitsIntoEightyColumnsWithoutTrailingBlanks) {
  std::istringstream lines(to_text(report_of(GetParam()())));
  std::string line;
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_FALSE(line.empty() || line.ends_with(' ')) << '"' << line << '"';
  }
}

TEST_P(ReportText, NamesEveryPart) {
  EXPECT_THAT(to_text(report_of(GetParam()())),
              AllOf(HasSubstr("usable"), HasSubstr("FPU groups"), HasSubstr("caches"), HasSubstr("NUMA"),
                    HasSubstr("trust"), HasSubstr("unit traits"), HasSubstr("avx2"),
                    HasSubstr("Linux 6.1.0")));
}

Topology large() {
  return Topology::from_synthetic(
             {.description = "pack:8 [numa] l3:4 core:16 l2:1 l1d:1 pu:2", .family = "x86"})
      .value();
}

INSTANTIATE_TEST_SUITE_P(Machines, ReportText,
                         testing::Values(bulldozer, power7, two_sockets_smt, hybrid, single_pu, two_pus,
                                         large));

TEST(ReportText, TellsWhyFewerWorkersAreAllowed) {
  CgroupLimits limits;
  limits.quota = 1.5;
  limits.quota_from = "/sys/fs/cgroup/cpu.max";
  EXPECT_THAT(
      to_text(report_of(bulldozer(), limits)),
      AllOf(HasSubstr("at most 1 worker\n"), HasSubstr("quota is 1.5 CPUs (/sys/fs/cgroup/cpu.max)")));
}

TEST(ReportText, WhateverTheSystemSaysOnlyTextReachesTheTerminal) {
  MachineReport report = report_of(bulldozer());
  report.kernel = report.counters.explanation = "\x1b]0;T\x07\xff\u202e\r\n";
  std::istringstream lines(to_text(report));
  for (std::string line; std::getline(lines, line);)
    EXPECT_EQ(printable(line), line);
}

TEST(ReportJson, HoldsTheTopology) {
  const auto json = to_json(report_of(bulldozer()));
  EXPECT_EQ(json["topology"]["fpu_groups"], (nlohmann::json{"0-1", "2-3", "4-5", "6-7"}));
  EXPECT_EQ(json["topology"]["cores"].size(), 8U);
  EXPECT_EQ(json["usable"]["worker_limit"], 8);
  EXPECT_TRUE(json["usable"]["quota"].is_null());
  EXPECT_EQ(json["instruction_sets"], (nlohmann::json{"baseline", "sse41", "avx2"}));
  EXPECT_EQ(json["trust"]["source"], "synthetic");
  EXPECT_EQ(json["topology"]["unit_traits"]["family"], "amd-bulldozer");
  EXPECT_EQ(json["topology"]["unit_traits"]["from"], "built in");
  EXPECT_EQ(json["topology"]["unit_traits"]["fp"]["shared_by"], "module");
  EXPECT_EQ(json["topology"]["unit_traits"]["counters"]["usage"]["fp"], "1 - fpu_empty / cycles");
  EXPECT_EQ(json["hardware_counters"]["available"], false);
}

TEST(InspectMachine, DescribesTheLiveMachine) {
  const auto report = inspect_machine();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->topology.cpus().contains_all(report->usable.cpus));
  EXPECT_GE(report->usable.worker_limit, 1);
  EXPECT_LE(report->usable.worker_limit, report->usable.cpus.count());
  EXPECT_FALSE(report->counters.explanation.empty());
  EXPECT_THAT(report->kernel, AllOf(HasSubstr("Linux"), Not(HasSubstr("\n"))));
  EXPECT_EQ(nlohmann::json::parse(to_json(*report).dump()), to_json(*report));
}

}  // namespace
}  // namespace millrace::machine
