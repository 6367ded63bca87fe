#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/test_machines.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/machine/units/unit_families.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <hwloc.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Checks the invariants of any topology.
void expect_consistent(const Topology& topology) {
  EXPECT_FALSE(topology.cpus().empty());
  for (const auto* sets : {&topology.cores(), &topology.fpu_groups()}) {
    CpuSet seen;
    for (const CpuSet& set : *sets) {
      EXPECT_FALSE(set.empty());
      EXPECT_FALSE(seen.intersects(set)) << "two sets hold CPU " << (seen & set).to_string();
      EXPECT_TRUE(seen.empty() || seen.lowest() < set.lowest()) << "not ordered";
      seen |= set;
    }
    EXPECT_EQ(seen, topology.cpus());
  }
  CpuSet of_kinds;
  for (const CoreKind& kind : topology.core_kinds())
    of_kinds |= kind.cpus;
  EXPECT_EQ(of_kinds, topology.cpus());
  for (const int cpu : topology.cpus()) {
    EXPECT_TRUE(topology.core_of(cpu).contains(cpu));
    EXPECT_TRUE(topology.fpu_group_of(cpu).contains_all(topology.core_of(cpu)));
    ASSERT_NE(topology.data_cache_of(cpu, 1), nullptr);
    ASSERT_NE(topology.last_level_cache_of(cpu), nullptr);
    EXPECT_LE(topology.last_level_bytes(topology.cpus()).value(),
              topology.last_level_cache_of(cpu)->size_bytes);
    EXPECT_EQ(topology.last_level_bytes({cpu}), topology.last_level_cache_of(cpu)->size_bytes);
    EXPECT_GE(topology.last_level_cache_of(cpu)->size_bytes, topology.data_cache_of(cpu, 1)->size_bytes);
    EXPECT_EQ(topology.distance(cpu, cpu), Distance::same_core);
    for (const int other : topology.cpus())
      EXPECT_EQ(topology.distance(cpu, other), topology.distance(other, cpu));
  }
  EXPECT_TRUE(topology.core_of(CpuSet::limit - 1).empty());
  EXPECT_FALSE(topology.trust().sentences().empty());
}

void expect_same_machine(const Topology& a, const Topology& b) {
  EXPECT_EQ(a.cpus(), b.cpus());
  EXPECT_EQ(a.packages(), b.packages());
  EXPECT_EQ(a.numa_nodes(), b.numa_nodes());
  EXPECT_EQ(a.caches(), b.caches());
  EXPECT_EQ(a.cores(), b.cores());
  EXPECT_EQ(a.fpu_groups(), b.fpu_groups());
  EXPECT_EQ(a.core_kinds(), b.core_kinds());
}

TEST(Topology, LiveMachineIsConsistentAndHoldsThisThread) {
  const auto topology = Topology::live();
  ASSERT_TRUE(topology) << topology.error().message;
  expect_consistent(*topology);
  EXPECT_TRUE(topology->cpus().contains_all(current_thread_affinity().value()));
  EXPECT_FALSE(topology->architecture().empty());
}

TEST(Topology, ReadingTheLiveMachineLeavesTheAffinityAlone) {
  const AffinityGuard guard;
  const CpuSet one = guard.saved()->first(1);
  ASSERT_TRUE(bind_current_thread(one));
  const auto topology = Topology::live();
  ASSERT_TRUE(topology);
  EXPECT_EQ(current_thread_affinity(), one);
  EXPECT_TRUE(topology->cpus().contains_all(*guard.saved()))
      << "CPUs outside of the mask belong to the machine too";
}

TEST(Topology, ExportedXmlReadsBackAsTheSameMachine) {
  const TemporaryFolder folder;
  const std::string path = (folder / "machine.xml");
  hwloc_topology_t hwloc = nullptr;
  ASSERT_EQ(hwloc_topology_init(&hwloc), 0);
  hwloc_topology_set_icache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  ASSERT_EQ(hwloc_topology_load(hwloc), 0);
  ASSERT_EQ(hwloc_topology_export_xml(hwloc, path.c_str(), 0), 0);
  hwloc_topology_destroy(hwloc);

  const auto read = Topology::from_xml(path);
  ASSERT_TRUE(read) << read.error().message;
  const auto live = Topology::live();
  ASSERT_TRUE(live);
  expect_same_machine(*read, *live);
  EXPECT_EQ(read->traits(), live->traits());
  EXPECT_EQ(read->trust().source, TopologySource::xml);
}

// Exports a description plus Linux's processor information, as `lstopo` would write it on such a machine.
std::string exported(const TemporaryFolder& folder, const char* description,
                     std::initializer_list<std::pair<const char*, const char*>> infos) {
  const std::string path = (folder / "described.xml");
  hwloc_topology_t hwloc = nullptr;
  EXPECT_EQ(hwloc_topology_init(&hwloc), 0);
  hwloc_topology_set_icache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
  EXPECT_EQ(hwloc_topology_set_synthetic(hwloc, description), 0);
  EXPECT_EQ(hwloc_topology_load(hwloc), 0);
  const hwloc_obj_t package = hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, 0);
  for (const auto& [name, value] : infos)
    hwloc_obj_add_info(package, name, value);
  EXPECT_EQ(hwloc_topology_export_xml(hwloc, path.c_str(), 0), 0);
  hwloc_topology_destroy(hwloc);
  return path;
}

TEST(Topology, RecognisesBulldozerInAFile) {
  const TemporaryFolder folder;
  const auto topology =
      Topology::from_xml(exported(folder, "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1",
                                  {{"CPUVendor", "AuthenticAMD"}, {"CPUFamilyNumber", "21"}}));
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->traits().family, "amd-bulldozer");
  EXPECT_EQ(topology->fpu_groups(), bulldozer().fpu_groups());
  EXPECT_EQ(topology->cores(), bulldozer().cores());
  EXPECT_EQ(topology->caches(), bulldozer().caches());
}

TEST(Topology, RecognisesPower7InAFile) {
  const TemporaryFolder folder;
  const auto topology = Topology::from_xml(
      exported(folder, "pack:1 core:8 pu:4", {{"CPUModel", "POWER7 (architected), altivec supported"}}));
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->traits().family, "power7");
  EXPECT_THAT(topology->fpu_groups(), SizeIs(8));
}

// The kernel reports a module as a core with two PUs, hwloc on its own as two cores below one L2.
class BulldozerShape : public testing::TestWithParam<const char*> {};

TEST_P(BulldozerShape, HasTwoCoresToAnFpu) {
  const auto topology = Topology::from_synthetic({.description = GetParam(), .family = "amd-bulldozer"});
  ASSERT_TRUE(topology) << topology.error().message;
  expect_consistent(*topology);
  EXPECT_THAT(topology->fpu_groups(), ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}, CpuSet{4, 5}, CpuSet{6, 7}));
  EXPECT_THAT(topology->cores(), SizeIs(8));
  EXPECT_EQ(topology->distance(0, 1), Distance::same_fpu_group);
}

INSTANTIATE_TEST_SUITE_P(Sources, BulldozerShape,
                         testing::Values("pack:1 l3:1 l2:4 core:1 pu:2", "pack:1 l3:1 l2:4 core:2 pu:1",
                                         "pack:1 l3:1 l1i:4 core:2 pu:1", "pack:1 core:4 pu:2",
                                         "pack:2 [numa] l3:1 l2:2 core:2 l1d:1 pu:1"));

TEST(Topology, Power7SharesAnFpuAmongFourPus) {
  const Topology topology = power7();
  expect_consistent(topology);
  EXPECT_THAT(topology.fpu_groups(), SizeIs(8));
  for (const CpuSet& group : topology.fpu_groups())
    EXPECT_EQ(group.count(), 4);
  EXPECT_EQ(topology.fpu_groups(), topology.cores());
}

TEST(Topology, Power10OfSmt8HasTwoGroupsOfUnitsInWhatTheKernelCallsACore) {
  const auto topology =
      Topology::from_synthetic({.description = "pack:1 core:2 l2:1 l1d:2 pu:4", .family = "power9-10"});
  ASSERT_TRUE(topology) << topology.error().message;
  expect_consistent(*topology);
  EXPECT_EQ(topology->groups_of(SharingDomain::core),
            (std::vector{CpuSet::range(0, 7), CpuSet::range(8, 15)}));
  EXPECT_THAT(topology->fpu_groups(), ElementsAre(CpuSet::range(0, 3), CpuSet::range(4, 7),
                                                  CpuSet::range(8, 11), CpuSet::range(12, 15)));
}

TEST(Topology, CortexA510SharesAnFpuWithTheOtherOfItsComplexAndOtherCoresWithNobody) {
  // Two clusters of small cores, and two large cores with their own L2.
  TopologyParts parts;
  for (int cpu = 0; cpu < 6; ++cpu)
    parts.cores.push_back({cpu});
  for (const CpuSet& cpus : {CpuSet{0, 1}, CpuSet{2, 3}, CpuSet{4}, CpuSet{5}})
    parts.caches.push_back({2, CacheType::unified, 1 << 19, 64, cpus});
  parts.traits = UnitFamilies::built_in().identify({"aarch64", "0x41", -1, "part 0xd46"});
  const Topology topology(parts);
  expect_consistent(topology);
  EXPECT_EQ(topology.traits().family, "cortex-a510");
  EXPECT_THAT(topology.cores(), SizeIs(6));
  EXPECT_THAT(topology.fpu_groups(), ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}, CpuSet{4}, CpuSet{5}));
}

// On every test machine and for every domain: each PU is in one group, and wider domains have wider groups.
TEST(Topology, HasEveryPuInOneGroupOfEveryDomain) {
  for (const Topology& topology :
       {bulldozer(), power7(), two_sockets_smt(), hybrid(), single_pu(), two_pus()})
    for (const SharingDomain domain : all_sharing_domains) {
      CpuSet seen;
      for (const CpuSet& group : topology.groups_of(domain)) {
        EXPECT_FALSE(seen.intersects(group)) << name_of(domain);
        seen |= group;
      }
      EXPECT_EQ(seen, topology.cpus()) << name_of(domain);
    }
}

TEST(Topology, StandsInForAnL2OfTheModuleWhereNobodyReportsOne) {
  const auto topology =
      Topology::from_synthetic({.description = "pack:1 core:4 pu:2", .family = "amd-bulldozer"});
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->data_cache_of(0, 1)->cpus, CpuSet{0});
  EXPECT_EQ(topology->data_cache_of(0, 2)->cpus, (CpuSet{0, 1}));
}

TEST(Topology, OfEveryFamilyHasATypicalMachine) {
  for (const UnitTraits& traits : UnitFamilies::built_in().all()) {
    const auto topology = Topology::from_synthetic({.description = traits.typical, .family = traits.family});
    ASSERT_TRUE(topology) << topology.error().message;
    expect_consistent(*topology);
    EXPECT_EQ(topology->traits(), traits);
  }
}

TEST(Topology, OfAFamilyThatNobodyKnowsIsAUsageErrorThatQuotesIt) {
  const auto topology = Topology::from_synthetic({.description = "core:2 pu:1", .family = "vax"});
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().kind, ErrorKind::usage);
  EXPECT_THAT(topology.error().message, HasSubstr("'vax'"));
}

TEST(Topology, TwoSocketsAreFarApart) {
  const Topology topology = two_sockets_smt();
  expect_consistent(topology);
  EXPECT_THAT(topology.packages(), SizeIs(2));
  EXPECT_THAT(topology.numa_nodes(), SizeIs(2));
  EXPECT_EQ(topology.distance(0, 1), Distance::same_core);
  EXPECT_EQ(topology.distance(0, 2), Distance::shared_cache);
  EXPECT_EQ(topology.distance(0, 8), Distance::apart);
}

TEST(Topology, HybridKeepsItsKindsOfCores) {
  const Topology topology = hybrid();
  expect_consistent(topology);
  ASSERT_THAT(topology.core_kinds(), SizeIs(2));
  EXPECT_EQ(topology.core_kind_of(0), 1);
  EXPECT_EQ(topology.core_kind_of(4), 0);
  EXPECT_EQ(topology.fpu_group_of(0), (CpuSet{0, 1}));
  EXPECT_EQ(topology.fpu_group_of(4), CpuSet{4});
}

TEST(Topology, SmallestMachinesAreConsistent) {
  expect_consistent(single_pu());
  expect_consistent(two_pus());
}

TEST(Topology, StandsInForCachesThatNobodyReports) {
  const auto topology = Topology::from_synthetic({.description = "pack:1 core:2 pu:2"});
  ASSERT_TRUE(topology);
  expect_consistent(*topology);
  EXPECT_TRUE(topology->trust().caches_guessed);
  EXPECT_FALSE(topology->trust().caches_reliable());
  EXPECT_FALSE(bulldozer().trust().caches_guessed);
}

struct Shape {
  int packages;
  int cores;    // per package
  int threads;  // per core
  bool l1_per_thread;
};

// The file that hwloc writes if only the CPUs `online` are online. Among objects with equal CPU sets, the L1
// is above the core.
std::string described_online(const Shape& shape, const CpuSet& online) {
  const auto object = [](const char* type, const CpuSet& cpus, const std::string& attributes,
                         const std::string& inner) {
    std::uint64_t mask = 0;
    for (const int cpu : cpus)
      mask |= std::uint64_t{1} << cpu;
    const std::string set = fmt::format("0x{:08x},0x{:08x}", mask >> 32U, mask & 0xffffffffU);
    return fmt::format(R"(<object type="{0}" cpuset="{1}" complete_cpuset="{1}" allowed_cpuset="{1}" )"
                       R"(nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" {2}>{3}</object>)",
                       type, set, attributes, inner);
  };
  const auto pu = [&](int cpu) { return object("PU", {cpu}, fmt::format(R"(os_index="{}")", cpu), ""); };
  const auto l1 = [&](const CpuSet& cpus, const std::string& inner) {
    return object(
        "L1Cache", cpus,
        R"(cache_size="32768" depth="1" cache_linesize="64" cache_associativity="8" cache_type="1")", inner);
  };
  const auto core = [&](const CpuSet& cpus, int number) {
    std::string pus;
    for (const int cpu : cpus)
      pus += shape.l1_per_thread && cpus.count() > 1 ? l1({cpu}, pu(cpu)) : pu(cpu);
    const std::string inner = object("Core", cpus, fmt::format(R"(os_index="{}")", number), pus);
    return !shape.l1_per_thread || cpus.count() == 1 ? l1(cpus, inner) : inner;
  };
  std::string packages = object("NUMANode", online, R"(os_index="0" local_memory="1073741824")", "");
  int cpu = 0;
  for (int p = 0; p < shape.packages; ++p) {
    std::string cores;
    CpuSet of_package;
    for (int c = 0; c < shape.cores; ++c, cpu += shape.threads)
      if (const CpuSet present = CpuSet::range(cpu, cpu + shape.threads - 1) & online; !present.empty()) {
        cores += core(present, c);
        of_package |= present;
      }
    if (!of_package.empty())
      packages += object("Package", of_package, fmt::format(R"(os_index="{}")", p), cores);
  }
  // hwloc's parser needs line breaks.
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n" +
         object("Machine", online, R"(os_index="0")", packages) + "</topology>\n";
}

class CpusOffline : public testing::TestWithParam<Shape> {};

TEST_P(CpusOffline, LeaveEveryOtherCoreAndPackageWhole) {
  const auto [packages, cores, threads, l1_per_thread] = GetParam();
  const int count = packages * cores * threads;
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    CpuSet online = CpuSet::range(0, count - 1);
    // Remove one CPU, or any number.
    const int gone = trial < count ? 1 : static_cast<int>(random() % static_cast<unsigned>(count));
    for (int i = 0; i < gone && online.count() > 1; ++i)
      online -= {trial < count ? trial : static_cast<int>(random() % static_cast<unsigned>(count))};
    SCOPED_TRACE("online: " + online.to_string());
    const std::string path = folder / "machine.xml";
    std::ofstream(path) << described_online(GetParam(), online);
    const auto topology = Topology::from_xml(path);
    ASSERT_TRUE(topology) << topology.error().message;
    expect_consistent(*topology);
    const auto expect_groups = [&](const auto& found, int size) {
      std::vector<CpuSet> expected;
      for (int first = 0; first < count; first += size)
        if (const CpuSet present = CpuSet::range(first, first + size - 1) & online; !present.empty())
          expected.push_back(present);
      EXPECT_EQ(found, expected);
    };
    expect_groups(topology->cores(), threads);
    expect_groups(topology->groups_of(SharingDomain::package), cores * threads);
    expect_groups(topology->groups_of(SharingDomain::l1), l1_per_thread ? 1 : threads);
    EXPECT_FALSE(topology->trust().smt_may_be_hidden);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CpusOffline,
                         testing::Values(Shape{2, 2, 2, true}, Shape{2, 2, 2, false}, Shape{1, 4, 4, true},
                                         Shape{2, 8, 2, true}, Shape{4, 1, 2, true}, Shape{1, 2, 1, true}));

TopologyParts virtual_machine(std::vector<CpuSet> cores) {
  TopologyParts parts;
  parts.cores = std::move(cores);
  parts.architecture = "x86_64";
  parts.traits = *UnitFamilies::built_in().find("x86");
  parts.hypervisor = "KVM";
  return parts;
}

TEST(TopologyTrust, SuspectsHiddenSmtInAVirtualMachineOfSinglePuCores) {
  const Topology topology(virtual_machine({{0}, {1}}));
  EXPECT_TRUE(topology.trust().smt_may_be_hidden);
  EXPECT_FALSE(topology.trust().fpu_groups_reliable());
  EXPECT_THAT(topology.trust().sentences().front(), HasSubstr("KVM"));
}

TEST(TopologyTrust, HasNoSuchSuspicionWhenSmtIsShown) {
  EXPECT_FALSE(Topology(virtual_machine({{0, 1}})).trust().smt_may_be_hidden);
}

TEST(TopologyTrust, DoubtsACacheThatSpansPackages) {
  TopologyParts parts = virtual_machine({{0}, {1}});
  parts.hypervisor = "";
  parts.packages = {{{0}, "", ""}, {{1}, "", ""}};
  parts.caches = {{3, CacheType::unified, 1 << 20, 64, {0, 1}}};
  const Topology topology(parts);
  EXPECT_TRUE(topology.trust().caches_implausible);
  EXPECT_FALSE(topology.trust().caches_reliable());
  EXPECT_TRUE(topology.trust().fpu_groups_reliable());
}

TEST(Topology, MissingFileIsAUsageErrorThatNamesIt) {
  const auto topology = Topology::from_xml("/nowhere/machine.xml");
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().kind, ErrorKind::usage);
  EXPECT_THAT(topology.error().message, HasSubstr("/nowhere/machine.xml"));
}

class DamagedXml : public testing::TestWithParam<const char*> {};

TEST_P(DamagedXml, IsAUsageErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  const std::string path = (folder / "damaged.xml");
  std::ofstream(path) << GetParam();
  const auto topology = Topology::from_xml(path);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().kind, ErrorKind::usage);
  EXPECT_THAT(topology.error().message, HasSubstr(path));
}

INSTANTIATE_TEST_SUITE_P(
    Contents, DamagedXml,
    testing::Values("", "no XML at all", "<html></html>",
                    "<?xml version=\"1.0\"?><topology version=\"2.0\"><object type=\"Mach"));

TEST(Topology, InvalidDescriptionIsAUsageErrorThatQuotesIt) {
  for (const char* description : {"", "nonsense", "pack:0", "core:-1"}) {
    const auto topology = Topology::from_synthetic({.description = description});
    ASSERT_FALSE(topology) << description;
    EXPECT_EQ(topology.error().kind, ErrorKind::usage);
    EXPECT_THAT(topology.error().message, HasSubstr(description));
  }
  EXPECT_FALSE(Topology::from_synthetic({.description = "core:2 pu:1", .absent = {0, 1}}));
}

TEST(Topology, WhereTheMaskCannotBeAskedForItSaysSoInsteadOfWaitingForEver) {
  expect_where_refused({SYS_sched_getaffinity}, [] {
    const auto live = Topology::live();
    ASSERT_FALSE(live);
    EXPECT_THAT(live.error().message, HasSubstr("sched_getaffinity"));
  });
}

TEST(Topology, IsReadWhereBindingIsRefused) {
  const auto here = Topology::live();
  ASSERT_TRUE(here);
  expect_where_refused({SYS_sched_setaffinity}, [&] {
    const auto live = Topology::live();
    ASSERT_TRUE(live) << live.error().message;
    EXPECT_EQ(live->cpus(), here->cpus());
    EXPECT_EQ(live->cores(), here->cores());
  });
}

}  // namespace
}  // namespace millrace::machine
