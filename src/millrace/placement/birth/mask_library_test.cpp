#include "millrace/base/descriptor/pipe.h"
#include "millrace/placement/birth/launch.h"
#include "millrace/placement/birth/mask_library.h"
#include "millrace/placement/task/testing_files.h"

#include <algorithm>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// A library, and its board as a program maps it that found it through its environment.
class MaskLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(library_);
    const std::string variable = MILLRACE_BOARD_VARIABLE "=";
    for (const std::string& text : library_->environment())
      if (text.starts_with(variable)) {
        const int file = std::stoi(text.substr(variable.size()));
        void* start = mmap(nullptr, sizeof(millrace_mask_board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (start != MAP_FAILED) board_ = static_cast<millrace_mask_board*>(start);
      }
    ASSERT_NE(board_, nullptr);
  }
  void TearDown() override {
    if (board_ != nullptr) munmap(board_, sizeof(*board_));
  }

  Result<MaskLibrary> library_ = MaskLibrary::make();
  millrace_mask_board* board_ = nullptr;
};

TEST_F(MaskLibraryTest, TellsOfEachMaskOnceAndOfWhatWasThereBeforeLast) {
  const machine::CpuSet place{1};
  const machine::CpuSet two{0, 1};
  const machine::CpuSet many{0, 1, 2, 70};
  for (int i = 0; i < 3; ++i)
    library_->note_given(place, two);
  EXPECT_EQ(board_->given_count, 1U);
  EXPECT_EQ(board_->given[0].mask[0], 2U);
  EXPECT_EQ(board_->given[0].original[0], 3U);
  library_->note_given(place, many);
  EXPECT_EQ(board_->given_count, 2U);
  EXPECT_EQ(board_->given[1].original[0], 7U);
  EXPECT_EQ(board_->given[1].original[1], 1U << 6);
}

TEST_F(MaskLibraryTest, KeepsToItsBoardWhateverTheProgramWritesThere) {
  board_->given_count = 0xffffffff;
  std::ranges::fill(board_->spawning, 0xffffffff);
  for (int cpu = 0; cpu < 1024; ++cpu)
    library_->note_given({cpu}, {0, 1023});
  library_->note_given({0}, {5});
  EXPECT_EQ(board_->given_count, millrace_board_given);
  EXPECT_EQ(library_->spawning().state_of(getpid()), SpawningThreads::State::none);
  library_->spawning().take_out(getpid());
}

TEST_F(MaskLibraryTest, KnowsTheMasksThatTheProgramHasChosen) {
  const machine::CpuSet wide{3, 64, 1023};
  std::uint64_t mask[millrace_board_words] = {8, 1};
  mask[millrace_board_words - 1] = std::uint64_t{1} << 63;
  EXPECT_FALSE(library_->is_chosen(wide));
  const std::uint32_t bit = millrace_chosen_bit(mask);
  board_->chosen[bit / 32] |= std::uint32_t{1} << (bit % 32);
  EXPECT_TRUE(library_->is_chosen(wide));
  for (int cpu = 0; cpu < 1024; ++cpu)
    EXPECT_FALSE(library_->is_chosen({cpu})) << cpu;
}

TEST_F(MaskLibraryTest, StartersAreKnownUntilTheyAreTakenOut) {
  SpawningThreads& spawning = library_->spawning();
  board_->spawning[7] = 42 | MILLRACE_STARTING;
  EXPECT_EQ(spawning.state_of(42), SpawningThreads::State::starting);
  spawning.take_out(42);
  EXPECT_EQ(spawning.state_of(42), SpawningThreads::State::starting) << "it is not done yet";
  board_->spawning[7] = 42;
  EXPECT_EQ(spawning.state_of(42), SpawningThreads::State::done);
  EXPECT_EQ(spawning.all(), std::vector<pid_t>{42});
  spawning.take_out(42);
  EXPECT_EQ(spawning.state_of(42), SpawningThreads::State::none);
}

TEST_F(MaskLibraryTest, StartersAreHeldUntilTheyAreLetGoOrTakenOut) {
  SpawningThreads& spawning = library_->spawning();
  EXPECT_TRUE(spawning.hold(42)) << "one that has not started anything yet";
  EXPECT_EQ(board_->spawning[0], 42 | MILLRACE_HELD);
  spawning.take_out(42);
  EXPECT_EQ(board_->spawning[0], 0U);
  board_->spawning[7] = 42;
  EXPECT_TRUE(spawning.hold(42));
  EXPECT_EQ(board_->spawning[7], 42 | MILLRACE_HELD);
  EXPECT_EQ(spawning.state_of(42), SpawningThreads::State::done);
  EXPECT_EQ(spawning.all(), std::vector<pid_t>{42});
  spawning.let_go(42);
  EXPECT_EQ(board_->spawning[7], 42U);
  EXPECT_TRUE(spawning.hold(42));
  spawning.take_out(42);
  EXPECT_EQ(board_->spawning[7], 0U);
  board_->spawning[7] = 42 | MILLRACE_STARTING;
  EXPECT_FALSE(spawning.hold(42)) << "it has begun";
  EXPECT_EQ(board_->spawning[7], 42 | MILLRACE_STARTING);
}

TEST_F(MaskLibraryTest, StartersThatEndedAreForgottenInTheMidstOfIt) {
  SpawningThreads& spawning = library_->spawning();
  for (const std::uint32_t entered : {42U, 42U | MILLRACE_STARTING, 42U | MILLRACE_HELD}) {
    board_->spawning[3] = entered;
    spawning.forget(42);
    EXPECT_EQ(board_->spawning[3], 0U);
  }
}

rlim_t most_open() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

TEST(MaskLibrary, KeepsADescriptorFreeThatTheProgramIsGivenForSomethingElse) {
  std::vector<int> usual;
  const auto first = MaskLibrary::make();
  ASSERT_TRUE(first);
  for (const auto& [here, there] : first->descriptors())
    usual.push_back(there);
  const auto other = MaskLibrary::make(*std::ranges::max_element(usual) + 1);
  ASSERT_TRUE(other);
  for (const auto& [here, there] : other->descriptors()) {
    EXPECT_NE(there, *std::ranges::max_element(usual) + 1);
    if (most_open() > 1100) {
      EXPECT_GT(there, 1000) << "up to there progress is read along";
    }
  }
}

// As if millrace were killed while the program is being loaded.
TEST(MaskLibrary, AProgramThatIsLoadedWhenMillraceHasEndedFindsNothingOfIt) {
  auto output = make_pipe();
  ASSERT_TRUE(output);
  const pid_t maker = fork();
  if (maker == 0) {
    dup2(output->write_end.get(), STDOUT_FILENO);
    dup2(output->write_end.get(), STDERR_FILENO);
    output->write_end.close();
    const auto library = MaskLibrary::make();
    const std::string look = "echo ${LD_PRELOAD-unset} ${MILLRACE_MASK_BOARD-unset}; ls -l /proc/$$/fd | "
                             "grep -c millrace";
    auto program = WaitingProgram::make(
        {.command = {testing_program("static", "late_exec"), std::to_string(getpid()), "/bin/sh", "-c", look},
         .environment = library->environment(),
         .descriptors = library->descriptors()});
    _exit(program->begin());
  }
  output->write_end.close();
  int status = 0;
  waitpid(maker, &status, 0);
  EXPECT_EQ(status, 0);
  std::string text;
  char letter = 0;
  while (read(output->read_end.get(), &letter, 1) == 1)
    text += letter;
  EXPECT_EQ(text, "unset unset\n0\n");
}

}  // namespace
}  // namespace millrace::placement
