#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/kernel_compiler_testing.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

namespace fs = std::filesystem;

constexpr machine::Isa isa = machine::Isa::baseline;

class KernelLibraries : public ::testing::Test {
 protected:
  [[nodiscard]] KernelCache cache(const std::string& identity = "this build") const {
    return KernelCache(scratch_.path() / "kernels", identity);
  }

  // Compiles the kernel with a separate library, ignoring the cache, and keeps it.
  void keep(const KernelSpec& spec, const std::string& identity = "this build") const {
    KernelLibrary library({.cache = cache(identity)});
    const auto kernel = library.wait(spec, isa);
    ASSERT_TRUE(kernel) << kernel.error().message;
  }

  const TemporaryFolder scratch_;
};

// The cache holds objects, so these tests need them.
class CachingKernelLibraries : public KernelLibraries {
 protected:
  void SetUp() override {
    if (!can_load_objects) GTEST_SKIP() << "objects can be loaded on x86-64 only";
  }
};

TEST_F(CachingKernelLibraries, compileAKernelOnce) {
  KernelLibrary library;
  const KernelSpec spec = kernel_chain({"blur", "binary"});
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
  EXPECT_FALSE(library.first_error());
}

TEST_F(KernelLibraries, singleFiltersAreThereWithoutCompiling) {
  KernelLibrary library;
  for (const Filter& filter : all_filters()) {
    if (filter.if_simple() == nullptr) continue;
    const auto kernel = library.find(single_stage(&filter), isa);
    ASSERT_TRUE(kernel);
    EXPECT_NE(*kernel, nullptr) << filter.name;
  }
  EXPECT_FALSE(library.compiling());
  EXPECT_EQ(library.compiled(), 0);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, aSecondRunFindsAtOnceWhatTheFirstCompiled) {
  const KernelSpec specs[] = {kernel_chain({"blur", "binary"}), kernel_chain({"rotate", "discretise"})};
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
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  for (int run = 0; run < 2; ++run) {
    KernelLibrary library;
    ASSERT_TRUE(library.wait(spec, isa));
    EXPECT_EQ(library.compiled(), 1);
    EXPECT_EQ(library.loaded(), 0);
  }
}

TEST_F(CachingKernelLibraries, kernelsOfAnotherBuildAreCompiledAnew) {
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  keep(spec, "older build");
  KernelLibrary library({.cache = cache()});
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  ASSERT_TRUE(library.wait(spec, isa));
  EXPECT_EQ(library.compiled(), 1);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, theCacheIsLookedIntoOncePerKernel) {
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  KernelLibrary library({.cache = cache()});
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  keep(spec);
  EXPECT_EQ(*library.find(spec, isa), nullptr);
  EXPECT_EQ(library.loaded(), 0);
}

TEST_F(CachingKernelLibraries, aDamagedFileIsCompiledAnewAndReplaced) {
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  keep(spec);
  const fs::path file = cache().file(spec.key(), isa);
  fs::resize_file(file, fs::file_size(file) / 2);
  // A valid file whose content is not an object.
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
  ASSERT_TRUE(library.wait(kernel_chain({"blur", "binary"}), isa));
  EXPECT_EQ(library.compiled(), 1);
}

TEST_F(CachingKernelLibraries, severalLibrariesMayShareOneFolderAtOnce) {
  const KernelSpec specs[] = {kernel_chain({"blur", "binary"}), kernel_chain({"blur", "discretise"})};
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

// Different kernels that each take a while to compile.
std::vector<KernelSpec> many_kernels() {
  std::vector<KernelSpec> specs;
  for (const char* first : {"blur", "sobel_x", "sobel_y", "rotate", "undistort"}) {
    for (const char* second : {"binary", "threshold", "discretise"})
      specs.push_back(kernel_chain({first, second}));
  }
  return specs;
}

TEST_F(KernelLibraries, urgentKernelsOvertakeTheOthers) {
  for (const bool asked_for_before : {false, true}) {
    KernelLibrary library;
    const KernelSpec wanted = kernel_chain({"blur", "blur"});
    for (const KernelSpec& spec : many_kernels())
      library.request(spec, isa);
    if (asked_for_before) library.request(wanted, isa);
    ASSERT_TRUE(library.wait(wanted, isa));
    EXPECT_TRUE(library.compiling());
    EXPECT_LT(library.compiled(), static_cast<int>(many_kernels().size()));
  }
}

// A library whose compiler has the named behaviour.
KernelLibraryOptions with_compiler(const fs::path& program) {
  return {.cache = {}, .compiler = {.program = program}};
}

TEST_F(CachingKernelLibraries, startNoCompilerWhereTheCacheHasAll) {
  const KernelSpec specs[] = {kernel_chain({"blur", "binary"}), kernel_chain({"rotate", "discretise"})};
  for (const KernelSpec& spec : specs)
    keep(spec);
  KernelLibrary library({.cache = cache(), .compiler = {.program = scratch_.path() / "none"}});
  for (const KernelSpec& spec : specs) {
    library.request(spec, isa);
    EXPECT_TRUE(library.wait(spec, isa));
  }
  EXPECT_FALSE(library.first_error());
}

TEST_F(CachingKernelLibraries, compileWhatIsUrgentBesideABackgroundThatHangs) {
  KernelLibrary library(with_compiler(stand_in(scratch_, "hangs-in-the-background")));
  const KernelSpec slow = kernel_chain({"blur", "binary"});
  library.request(slow, isa);
  const auto urgent = library.wait(kernel_chain({"blur", "discretise"}), isa);
  EXPECT_TRUE(urgent) << urgent.error().message;
  EXPECT_TRUE(library.compiling());
  EXPECT_EQ(*library.find(slow, isa), nullptr);
}

TEST_F(CachingKernelLibraries, beginAgainWithWhatBecomesUrgentWhileItIsCompiled) {
  for (const bool begun : {false, true}) {
    KernelLibrary library(with_compiler(stand_in(scratch_, "hangs-in-the-background")));
    const KernelSpec spec = kernel_chain({"blur", "binary"});
    library.request(spec, isa);
    ASSERT_TRUE(!begun || eventually([] { return !children_of(getpid()).empty(); }));
    const auto kernel = library.wait(spec, isa);
    EXPECT_TRUE(kernel) << kernel.error().message;
    EXPECT_EQ(library.compiled(), 1);
    EXPECT_FALSE(library.first_error());
  }
}

TEST_F(CachingKernelLibraries, leaveNoProcessBehind) {
  for (const bool begun : {false, true}) {
    {
      KernelLibrary library(with_compiler(stand_in(scratch_, "hangs")));
      library.request(kernel_chain({"blur", "binary"}), isa, Urgency::background);
      library.request(kernel_chain({"blur", "discretise"}), isa, Urgency::urgent);
      ASSERT_TRUE(!begun || eventually([] { return children_of(getpid()).size() == 2; }));
    }
    EXPECT_TRUE(children_of(getpid()).empty());
  }
}

TEST_F(CachingKernelLibraries, letTheirCompilerGoWhenThereIsNothingMoreToCompile) {
  KernelLibrary library;
  ASSERT_TRUE(library.wait(kernel_chain({"blur", "binary"}), isa));
  EXPECT_TRUE(eventually([] { return children_of(getpid()).empty(); }));
  ASSERT_TRUE(library.wait(kernel_chain({"blur", "discretise"}), isa)) << "and start it again";
}

TEST_F(CachingKernelLibraries, rememberWhatACompilerBrokeDownOver) {
  KernelLibrary library(with_compiler(stand_in(scratch_, "crashes")));
  for (const KernelSpec& spec : {kernel_chain({"blur", "binary"}), kernel_chain({"blur", "discretise"})}) {
    for (int time = 0; time < 2; ++time) {
      const auto kernel = library.wait(spec, isa);
      ASSERT_FALSE(kernel);
      EXPECT_NE(kernel.error().message.find(spec.key() + ": the compiler was ended by signal 11"),
                std::string::npos)
          << kernel.error().message;
      EXPECT_FALSE(library.find(spec, isa));
    }
  }
  EXPECT_EQ(library.compiled(), 2);
  ASSERT_TRUE(library.first_error());
  EXPECT_NE(library.first_error()->message.find("blur(i0);binary(0)"), std::string::npos);
}

TEST_F(CachingKernelLibraries, tryAgainWhereThereWasNoCompiler) {
  const fs::path program = scratch_.path() / "compiler";
  KernelLibrary library(with_compiler(program));
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  const auto missing = library.wait(spec, isa);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(program.string()), std::string::npos) << missing.error().message;
  EXPECT_FALSE(library.find(spec, isa));
  EXPECT_EQ(library.compiled(), 0);
  fs::create_symlink(default_kernel_compiler(), program);
  const auto there = library.wait(spec, isa);
  EXPECT_TRUE(there) << there.error().message;
}

TEST_F(CachingKernelLibraries, areNotHarmedByAnObjectThatIsNone) {
  KernelLibrary library({.cache = cache(), .compiler = {.program = stand_in(scratch_, "sends-no-object")}});
  const KernelSpec spec = kernel_chain({"blur", "binary"});
  EXPECT_FALSE(library.wait(spec, isa));
  EXPECT_FALSE(cache().load(spec.key(), isa)) << "nor is it kept";
}

}  // namespace
}  // namespace millrace::image
