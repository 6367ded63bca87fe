#include "millrace/base/testing/scoped_variable_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/kernel/kernel_cache.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace::image {
namespace {

namespace fs = std::filesystem;
using machine::Isa;
using Object = std::vector<std::byte>;

Object random_object(std::size_t bytes, unsigned seed = 1) {
  std::mt19937 random(seed);
  Object object(bytes);
  std::ranges::generate(object, [&] { return static_cast<std::byte>(random()); });
  return object;
}

std::string content_of(const fs::path& file) {
  std::string content(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary).read(content.data(), static_cast<std::streamsize>(content.size()));
  return content;
}

void replace_content(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

class KernelCaches : public ::testing::Test {
 protected:
  const std::string key_ = "blur(i0);sobel_x(0)";
  const TemporaryFolder scratch_;
  const fs::path folder_ = scratch_.path() / "cache" / "kernels";
  const KernelCache cache_{folder_, "this build"};
};

TEST_F(KernelCaches, returnsWhatWasStoredForEverySize) {
  for (const std::size_t bytes : {0, 1, 7, 4096, 100'003}) {
    const Object object = random_object(bytes);
    const std::string key = "kernel of " + std::to_string(bytes);
    EXPECT_FALSE(cache_.load(key, Isa::avx2));
    cache_.store(key, Isa::avx2, object);
    EXPECT_EQ(cache_.load(key, Isa::avx2), object);
  }
}

TEST_F(KernelCaches, replacesAnOlderObject) {
  cache_.store(key_, Isa::avx2, random_object(50, 1));
  cache_.store(key_, Isa::avx2, random_object(70, 2));
  EXPECT_EQ(cache_.load(key_, Isa::avx2), random_object(70, 2));
}

TEST_F(KernelCaches, tellsKernelsInstructionSetsAndBuildsApart) {
  cache_.store(key_, Isa::avx2, random_object(50));
  EXPECT_FALSE(cache_.load("blur(i0)", Isa::avx2));
  EXPECT_FALSE(cache_.load(key_, Isa::sse41));
  EXPECT_FALSE(KernelCache(folder_, "another build").load(key_, Isa::avx2));
  EXPECT_TRUE(KernelCache(folder_, "this build").load(key_, Isa::avx2));
}

// As if two keys had the same digest, or a file had been renamed.
TEST_F(KernelCaches, aFileOfAnotherKernelOrBuildUnderItsNameIsAsGoodAsAbsent) {
  const KernelCache stale(folder_, "older build");
  stale.store(key_, Isa::avx2, random_object(50));
  cache_.store("other", Isa::avx2, random_object(50));
  for (const fs::path& foreign : {stale.file(key_, Isa::avx2), cache_.file("other", Isa::avx2)}) {
    fs::copy_file(foreign, cache_.file(key_, Isa::avx2), fs::copy_options::overwrite_existing);
    EXPECT_FALSE(cache_.load(key_, Isa::avx2)) << foreign;
  }
}

TEST_F(KernelCaches, aFileTruncatedAnywhereIsAsGoodAsAbsentAndIsReplaced) {
  const Object object = random_object(200);
  cache_.store(key_, Isa::avx2, object);
  const fs::path file = cache_.file(key_, Isa::avx2);
  const std::string whole = content_of(file);
  ASSERT_GT(whole.size(), object.size());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    replace_content(file, whole.substr(0, length));
    ASSERT_FALSE(cache_.load(key_, Isa::avx2)) << length;
  }
  replace_content(file, whole + '\0');
  EXPECT_FALSE(cache_.load(key_, Isa::avx2)) << "longer than it says";
  cache_.store(key_, Isa::avx2, object);
  EXPECT_EQ(cache_.load(key_, Isa::avx2), object);
}

TEST_F(KernelCaches, aFileWithAFlippedBitAnywhereIsAsGoodAsAbsent) {
  cache_.store(key_, Isa::avx2, random_object(200));
  const fs::path file = cache_.file(key_, Isa::avx2);
  const std::string whole = content_of(file);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    replace_content(file, damaged);
    ASSERT_FALSE(cache_.load(key_, Isa::avx2)) << at;
  }
}

TEST_F(KernelCaches, keepsItsFilesFromOtherUsers) {
  cache_.store(key_, Isa::avx2, random_object(50));
  EXPECT_EQ(mode_of(folder_), 0700U);
  EXPECT_EQ(mode_of(cache_.file(key_, Isa::avx2)), 0600U);
}

TEST_F(KernelCaches, loadsNothingThatAnotherUserCouldHaveWritten) {
  cache_.store(key_, Isa::avx2, random_object(50));
  const fs::path file = cache_.file(key_, Isa::avx2);
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
    EXPECT_FALSE(cache_.load(key_, Isa::avx2)) << mode;
  }
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_TRUE(cache_.load(key_, Isa::avx2)) << "others may read it";
  for (const mode_t mode : {0770U, 0777U, 01777U}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_FALSE(cache_.load(key_, Isa::avx2)) << mode;
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_TRUE(cache_.load(key_, Isa::avx2));
}

TEST_F(KernelCaches, loadsNothingOfAnotherOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  cache_.store(key_, Isa::avx2, random_object(50));
  const fs::path file = cache_.file(key_, Isa::avx2);
  ASSERT_EQ(chown(file.c_str(), 1, 1), 0);
  EXPECT_FALSE(cache_.load(key_, Isa::avx2));
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder_.c_str(), 1, 1), 0);
  EXPECT_FALSE(cache_.load(key_, Isa::avx2));
  cache_.store("other", Isa::avx2, random_object(50));
  EXPECT_FALSE(fs::exists(cache_.file("other", Isa::avx2)));
}

TEST_F(KernelCaches, followsNoLinkAndWaitsForNoPipe) {
  cache_.store(key_, Isa::avx2, random_object(50));
  const fs::path file = cache_.file(key_, Isa::avx2);
  const fs::path moved = scratch_.path() / "moved";
  fs::rename(file, moved);
  fs::create_symlink(moved, file);
  EXPECT_FALSE(cache_.load(key_, Isa::avx2));
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache_.load(key_, Isa::avx2));
  fs::remove(file);
  fs::create_directory(file, folder_);
  EXPECT_FALSE(cache_.load(key_, Isa::avx2));
}

TEST_F(KernelCaches, isSilentlyWithoutWhereNothingCanBeKept) {
  const fs::path blocked = scratch_.path() / "a file";
  replace_content(blocked, "x");
  for (const KernelCache& cache :
       {KernelCache(), KernelCache({}, "this build"), KernelCache(folder_, ""),
        KernelCache(blocked, "this build"), KernelCache(blocked / "below" / "it", "this build"),
        KernelCache("/proc/none/kernels", "this build")}) {
    cache.store(key_, Isa::avx2, random_object(50));
    EXPECT_FALSE(cache.load(key_, Isa::avx2));
  }
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(content_of(blocked), "x");
}

TEST_F(KernelCaches, removesWhatWasUnusedForLongestWhenItGrowsTooLarge) {
  constexpr std::size_t object_bytes = 1000;
  const KernelCache cache(folder_, "this build", 4 * (object_bytes + 100));
  const auto store = [&](const std::string& key) {
    cache.store(key, Isa::avx2, random_object(object_bytes));
  };
  const auto age = [&](const std::string& key, int hours) {
    fs::last_write_time(cache.file(key, Isa::avx2),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* key : {"a", "b", "c", "d"})
    store(key);
  for (const char* key : {"a", "b", "c", "d"})
    ASSERT_TRUE(fs::exists(cache.file(key, Isa::avx2))) << key;
  age("a", 4);
  age("b", 3);
  age("c", 2);
  age("d", 1);
  ASSERT_TRUE(cache.load("a", Isa::avx2)) << "which makes it the one used last";
  store("e");
  EXPECT_FALSE(fs::exists(cache.file("b", Isa::avx2)));
  for (const char* key : {"a", "c", "d", "e"})
    EXPECT_TRUE(fs::exists(cache.file(key, Isa::avx2))) << key;
}

TEST_F(KernelCaches, countsAndRemovesWhatKilledProcessesLeftButNothingElse) {
  fs::create_directories(folder_);
  fs::permissions(folder_, fs::perms::owner_all);
  replace_content(folder_ / ".0123.kernel.77-0.part", std::string(5000, 'x'));
  replace_content(folder_ / "notes.txt", std::string(5000, 'x'));
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const char* name : {".0123.kernel.77-0.part", "notes.txt"})
    fs::last_write_time(folder_ / name, yesterday);
  const KernelCache cache(folder_, "this build", 4000);
  cache.store(key_, Isa::avx2, random_object(1000));
  EXPECT_FALSE(fs::exists(folder_ / ".0123.kernel.77-0.part"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_TRUE(cache.load(key_, Isa::avx2));
}

TEST_F(KernelCaches, doesNotKeepWhatIsLargerThanAllOfItMayBe) {
  const KernelCache cache(folder_, "this build", 500);
  cache.store("small", Isa::avx2, random_object(100));
  cache.store(key_, Isa::avx2, random_object(600));
  EXPECT_FALSE(cache.load(key_, Isa::avx2));
  EXPECT_TRUE(cache.load("small", Isa::avx2));
}

TEST_F(KernelCaches, whatOneMachineOfAJobCompilesTheOthersHaveButDoNotKeep) {
  const fs::path shared = scratch_.path() / "job" / "kernels";
  const auto machine = [&](const std::string& name, const std::string& build = "this build") {
    KernelCache own(scratch_.path() / name, build);
    own.share(KernelCache(shared, build));
    return own;
  };
  const Object object = random_object(5000);
  machine("first").store(key_, Isa::avx2, object);
  EXPECT_EQ(machine("second").load(key_, Isa::avx2), object);
  EXPECT_FALSE(KernelCache(scratch_.path() / "second", "this build").load(key_, Isa::avx2));
  EXPECT_FALSE(machine("second", "another build").load(key_, Isa::avx2));
  // Kernels from before share() are copied when they are used.
  const Object older = random_object(300, 2);
  KernelCache(scratch_.path() / "third", "this build").store("older", Isa::avx2, older);
  EXPECT_FALSE(machine("second").load("older", Isa::avx2));
  EXPECT_EQ(machine("third").load("older", Isa::avx2), older);
  EXPECT_EQ(machine("second").load("older", Isa::avx2), older);
  // A file that is damaged or owned by another user counts as absent and is replaced.
  const fs::path file = KernelCache(shared, "this build").file(key_, Isa::avx2);
  std::string content = content_of(file);
  content[content.size() / 2] ^= 1;
  replace_content(file, content);
  EXPECT_FALSE(machine("second").load(key_, Isa::avx2));
  machine("second").store(key_, Isa::avx2, object);
  EXPECT_EQ(machine("fourth").load(key_, Isa::avx2), object);
  fs::permissions(shared, fs::perms::others_all, fs::perm_options::add);
  EXPECT_FALSE(machine("fourth").load(key_, Isa::avx2));
}

// Several processes write and remove the same few kernels while this one reads: every file found is complete.
TEST_F(KernelCaches, severalProcessesMayUseOneFolderAtOnce) {
  constexpr int writers = 3;
  constexpr int rounds = 150;
  const std::array<std::string, 3> keys{"a", "b", "c"};
  const auto object_of = [](const std::string& key) {
    return random_object(5000, static_cast<unsigned>(key[0]));
  };
  const KernelCache shared(folder_, "this build", 12'000);  // room for two of the three
  std::array<pid_t, writers> children{};
  for (int w = 0; w < writers; ++w) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < rounds; ++round) {
        const std::string& key = keys[static_cast<std::size_t>(round + w) % keys.size()];
        shared.store(key, Isa::avx2, object_of(key));
        const auto found = shared.load(key, Isa::avx2);
        good = good && (!found || *found == object_of(key));
      }
      _exit(good ? 0 : 1);
    }
    children[static_cast<std::size_t>(w)] = child;
  }
  for (int round = 0; round < rounds; ++round) {
    const std::string& key = keys[static_cast<std::size_t>(round) % keys.size()];
    const auto found = shared.load(key, Isa::avx2);
    EXPECT_TRUE(!found || *found == object_of(key));
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  shared.store("a", Isa::avx2, object_of("a"));
  EXPECT_EQ(shared.load("a", Isa::avx2), object_of("a"));
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().extension(), ".kernel") << entry.path();
}

TEST(DefaultKernelCacheFolder, liesInTheUsersCacheFolder) {
  const ScopedVariable cache("XDG_CACHE_HOME", "/somewhere");
  EXPECT_EQ(default_kernel_cache_folder(), "/somewhere/millrace/kernels");
}

TEST(ProgramIdentity, isTheBuildOfThisVeryProgram) {
  const std::string identity = program_identity();
  ASSERT_FALSE(identity.empty()) << "linked without --build-id";
  EXPECT_EQ(identity, program_identity());
  const auto build_id = identity.substr(0, identity.find(' '));
  EXPECT_GE(build_id.size(), 16U);
  std::string raw;  // as in the file
  for (std::size_t i = 0; i + 1 < build_id.size(); i += 2)
    raw += static_cast<char>(std::stoi(build_id.substr(i, 2), nullptr, 16));
  EXPECT_NE(content_of("/proc/self/exe").find(std::string("GNU\0", 4) + raw), std::string::npos);
}

}  // namespace
}  // namespace millrace::image
