#include "millrace/base/command_line.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MakeDecimal, TakesZerosInFrontAndRefusesOtherBases) {
  for (const auto& [text, number] :
       std::array<std::pair<const char*, const char*>, 9>{{{"010", "10"},
                                                           {"0", "0"},
                                                           {"000", "0"},
                                                           {"010M", "10M"},
                                                           {"word", "word"},
                                                           {"", ""},
                                                           {"-07", "-7"},
                                                           {"18446744073709551615", "18446744073709551615"},
                                                           {"8", "8"}}}) {
    std::string read = text;
    EXPECT_EQ(make_decimal(read), "") << text;
    EXPECT_EQ(read, number);
  }
  for (const char* wrong : {"0x10", "-0x10", "0b1", "99999999999999999999"}) {
    std::string read = wrong;
    EXPECT_NE(make_decimal(read), "") << wrong;
  }
}

TEST(CommandLine, ReadsNumbersOfVerbsAsDecimalAndLeavesNamesAlone) {
  CLI::App app;
  std::int64_t frames = 0;
  std::string name;
  CLI::App* const verb = app.add_subcommand("run");
  verb->add_option("--frames", frames)->check(CLI::Range(1, 100));
  verb->add_option("name", name);
  std::array<std::string, 5> words{"prog", "run", "--frames", "010", "007"};
  std::array<char*, 6> argv{};
  for (std::size_t i = 0; i < words.size(); ++i)
    argv[i] = words[i].data();
  EXPECT_EQ(read_command_line(app, 5, argv.data(), "prog", "prog --help"), std::nullopt);
  EXPECT_EQ(frames, 10);
  EXPECT_EQ(name, "007");
  words[3] = "0x10";
  argv[3] = words[3].data();
  testing::internal::CaptureStderr();
  EXPECT_EQ(read_command_line(app, 5, argv.data(), "prog", "prog --help"), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "prog: --frames: 0x10 is not a decimal number; see prog run --help\n");
}

// The output of a program with the verbs `run` and `filters` and some numeric options.
std::string said_to(std::vector<std::string> words) {
  CLI::App app;
  app.require_subcommand(1);
  double deadline = 0;
  std::uint64_t seed = 0;
  CLI::App* const verb = app.add_subcommand("run");
  app.add_subcommand("filters");
  verb->add_option("--deadline", deadline)->check(above_zero());
  verb->add_option("--seed", seed)->check(not_negative());
  words.insert(words.begin(), "prog");
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  testing::internal::CaptureStderr();
  const auto end = read_command_line(app, static_cast<int>(argv.size()), argv.data(), "prog", "prog --help");
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(end.value_or(0), said.empty() ? 0 : 2);
  return said;
}

TEST(CommandLine, NamesNumbersThatAreNotInRange) {
  for (const char* wrong : {"-1", "0", "nan", "inf", "1e999", "word"})
    EXPECT_EQ(said_to({"run", "--deadline", wrong}),
              fmt::format("prog: --deadline: {} is not a number above 0; see prog run --help\n", wrong));
  EXPECT_EQ(said_to({"run", "--deadline", "0.5"}), "");
  EXPECT_EQ(said_to({"run", "--seed", "-1"}), "prog: --seed: -1 is below 0; see prog run --help\n");
  EXPECT_EQ(said_to({"run", "--seed", "18446744073709551615"}), "");
}

TEST(CommandLine, NamesAVerbThatIsNotThere) {
  EXPECT_EQ(said_to({"rum", "word"}), "prog: there is no verb 'rum'; did you mean 'run'?; see prog --help\n");
  EXPECT_EQ(said_to({"nothing"}), "prog: there is no verb 'nothing'; see prog --help\n");
  EXPECT_EQ(said_to({"filters"}), "");
}

}  // namespace
}  // namespace millrace
