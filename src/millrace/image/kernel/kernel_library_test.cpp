#include "millrace/base/temporary_folder_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace millrace::image {
namespace {

namespace fs = std::filesystem;
using testing::chain;

constexpr machine::Isa isa = machine::Isa::baseline;

class KernelLibraries : public ::testing::Test {
 protected:
  [[nodiscard]] KernelCache cache(const std::string& identity = "this build") const {
    return KernelCache(scratch_.path() / "kernels", identity);
  }

  // Has a library of its own compile the kernel, whatever is in the cache, and keep it.
  void keep(const KernelSpec& spec, const std::string& identity = "this build") const {
    KernelLibrary library({.cache = cache(identity)});
    const auto kernel = library.wait(spec, isa);
    ASSERT_TRUE(kernel) << kernel.error().message;
  }

  const TemporaryFolder scratch_;
};

// Objects are what is kept, so these tests need them.
class CachingKernelLibraries : public KernelLibraries {
 protected:
  void SetUp() override {
    if (!can_load_objects) GTEST_SKIP() << "objects can be loaded on x86-64 only";
  }
};

TEST_F(KernelLibraries, compilesAKernelOnceWhateverTheMeans) {
  for (const bool just_in_time : {true, !can_load_objects}) {
    KernelLibrary library({.cache = {}, .just_in_time = just_in_time});
    const KernelSpec spec = chain({"blur", "binary"});
    const auto absent = library.find(spec, isa);
    ASSERT_TRUE(absent);
    EXPECT_EQ(*absent, nullptr);
    EXPECT_FALSE(library.compiling()) << "nobody has asked for it";
    const auto kernel = library.wait(spec, isa);
    ASSERT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ((*kernel)->spec().key(), spec.key());
    library.request(spec, isa, Urgency::urgent);
    EXPECT_EQ(*library.find(spec, isa), *kernel);
    EXPECT_EQ(*library.wait(spec, isa), *kernel);
    EXPECT_EQ(library.compiled(), 1);
    EXPECT_GT(library.compile_seconds(), 0);
  }
}

TEST_F(KernelLibraries, singleFiltersAreThereWithoutCompiling) {
  KernelLibrary library;
  for (const Filter& filter : all_filters()) {
    const auto kernel = library.find(single_stage(filter), isa);
    ASSERT_TRUE(kernel);
    EXPECT_NE(*kernel, nullptr) << filter.name;
  }
  EXPECT_FALSE(library.compiling());
  EXPECT_EQ(library.compiled(), 0);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, aSecondRunFindsAtOnceWhatTheFirstCompiled) {
  const KernelSpec specs[] = {chain({"blur", "binary"}), chain({"rotate", "discretise"})};
  for (const KernelSpec& spec : specs)
    keep(spec);
  KernelLibrary library({.cache = cache()});
  for (const KernelSpec& spec : specs) {
    const auto kernel = library.find(spec, isa);
    ASSERT_TRUE(kernel) << kernel.error().message;
    ASSERT_NE(*kernel, nullptr);
    EXPECT_EQ(*library.wait(spec, isa), *kernel);
  }
  EXPECT_EQ(library.loaded(), 2);
  EXPECT_EQ(library.compiled(), 0);
  EXPECT_FALSE(library.compiling());
}

TEST_F(CachingKernelLibraries, nothingIsKeptUnlessAskedFor) {
  const KernelSpec spec = chain({"blur", "binary"});
  for (int run = 0; run < 2; ++run) {
    KernelLibrary library;
    ASSERT_TRUE(library.wait(spec, isa));
    EXPECT_EQ(library.compiled(), 1);
    EXPECT_EQ(library.loaded(), 0);
  }
}

TEST_F(CachingKernelLibraries, kernelsOfAnotherBuildAreCompiledAnew) {
  const KernelSpec spec = chain({"blur", "binary"});
  keep(spec, "older build");
  KernelLibrary library({.cache = cache()});
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  ASSERT_TRUE(library.wait(spec, isa));
  EXPECT_EQ(library.compiled(), 1);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, theCacheIsLookedIntoOncePerKernel) {
  const KernelSpec spec = chain({"blur", "binary"});
  KernelLibrary library({.cache = cache()});
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  keep(spec);
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, aDamagedFileIsCompiledAnewAndReplaced) {
  const KernelSpec spec = chain({"blur", "binary"});
  keep(spec);
  const fs::path file = cache().file(spec.key(), isa);
  fs::resize_file(file, fs::file_size(file) / 2);
  // Whole, but no object.
  const std::vector<std::byte> nonsense(1000);
  for (const bool truncated : {true, false}) {
    if (!truncated) cache().store(spec.key(), isa, nonsense);
    {
      KernelLibrary library({.cache = cache()});
      ASSERT_TRUE(library.wait(spec, isa)) << truncated;
      EXPECT_EQ(library.compiled(), 1);
    }
    KernelLibrary again({.cache = cache()});
    EXPECT_NE(*again.find(spec, isa), nullptr);
    EXPECT_EQ(again.compiled(), 0);
  }
}

TEST_F(CachingKernelLibraries, aCacheThatCannotBeWrittenChangesNothing) {
  const fs::path blocked = scratch_.path() / "a file";
  std::ofstream(blocked) << "x";
  KernelLibrary library({.cache = KernelCache(blocked / "kernels", "this build")});
  ASSERT_TRUE(library.wait(chain({"blur", "binary"}), isa));
  EXPECT_EQ(library.compiled(), 1);
}

TEST_F(CachingKernelLibraries, severalLibrariesMayShareOneFolderAtOnce) {
  const KernelSpec specs[] = {chain({"blur", "binary"}), chain({"blur", "discretise"})};
  {
    KernelLibrary libraries[] = {KernelLibrary({.cache = cache()}), KernelLibrary({.cache = cache()})};
    for (KernelLibrary& library : libraries) {
      for (const KernelSpec& spec : specs)
        library.request(spec, isa, Urgency::urgent);
    }
    for (KernelLibrary& library : libraries) {
      for (const KernelSpec& spec : specs)
        EXPECT_TRUE(library.wait(spec, isa));
    }
  }
  KernelLibrary library({.cache = cache()});
  for (const KernelSpec& spec : specs)
    EXPECT_NE(*library.find(spec, isa), nullptr);
}

TEST_F(KernelLibraries, aKernelThatCannotBeCompiledIsAnErrorAndIsNotKept) {
  Filter unknown = *find_filter("blur");
  unknown.name = "unknown";
  const KernelSpec broken{.stages = {{.filter = &unknown, .inputs = {-1}}}, .stored = {}};
  KernelLibrary library({.cache = cache()});
  const auto refused = library.wait(broken, isa);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("cannot compile the fused kernel unknown(i0)"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(library.find(broken, isa));
  EXPECT_FALSE(cache().load(broken.key(), isa));
}

// Kernels that take a while each, all different.
std::vector<KernelSpec> many_kernels() {
  std::vector<KernelSpec> specs;
  for (const char* first : {"blur", "sobel_x", "sobel_y", "rotate", "undistort"}) {
    for (const char* second : {"binary", "threshold", "discretise"})
      specs.push_back(chain({first, second}));
  }
  return specs;
}

TEST_F(KernelLibraries, urgentKernelsOvertakeTheOthers) {
  for (const bool asked_for_before : {false, true}) {
    KernelLibrary library;
    const KernelSpec wanted = chain({"blur", "blur"});
    for (const KernelSpec& spec : many_kernels())
      library.request(spec, isa);
    if (asked_for_before) library.request(wanted, isa);
    ASSERT_TRUE(library.wait(wanted, isa));
    EXPECT_TRUE(library.compiling());
    EXPECT_LT(library.compiled(), static_cast<int>(many_kernels().size()));
  }
}

// How many threads of this process have a nice value.
int threads_with_nice(int nice) {
  int count = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    if (getpriority(PRIO_PROCESS, static_cast<id_t>(std::stoi(task.path().filename()))) == nice) ++count;
  }
  return count;
}

TEST_F(KernelLibraries, eachUrgencyHasItsPriority) {
  if (getpriority(PRIO_PROCESS, 0) >= 5) GTEST_SKIP() << "this process has a lower priority itself";
  const int urgent_before = threads_with_nice(5);
  const int background_before = threads_with_nice(19);
  {
    KernelLibrary library;
    ASSERT_TRUE(library.wait(chain({"blur", "binary"}), isa));
    EXPECT_EQ(threads_with_nice(5), urgent_before + 1);
    EXPECT_EQ(threads_with_nice(19), background_before);
    library.request(chain({"blur", "discretise"}), isa);
    while (library.compiling())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(library.compiled(), 2);
    EXPECT_EQ(threads_with_nice(5), urgent_before + 1);
    EXPECT_EQ(threads_with_nice(19), background_before + 1);
  }
  EXPECT_EQ(threads_with_nice(5), urgent_before) << "threads end with the library";
  EXPECT_EQ(threads_with_nice(19), background_before);
}

}  // namespace
}  // namespace millrace::image
