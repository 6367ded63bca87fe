#include "millrace/base/options/command_line.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
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

// A program with the verbs `run` and `profiles list`, which has every kind of option.
struct Program {
  CLI::App app;
  double deadline = 0;
  std::uint64_t seed = 0;
  std::int64_t frames = 0;
  int threads = 0;
  int unlimited = 0;
  std::string codec;
  std::uint64_t memory = 0;
  bool quiet = false;
  bool probe = false;
  std::string cpus;
  std::string input;
  std::vector<int> numbers;

  Program() {
    app.require_subcommand(1);
    CLI::App* const verb = app.add_subcommand("run", "Run a pipeline");
    verb->add_option("input", input, "Video")->required();
    verb->add_option("numbers", numbers, "Numbers");
    verb->add_option("--deadline", deadline, "Deadline")->option_text("MS")->check(above_zero());
    verb->add_option("--seed", seed, "Seed")->check(not_negative());
    verb->add_option("--frames", frames, "Frames")->check(between(1, 100));
    verb->add_option("-t,--threads,--workers", threads, "Threads")->check(between(1, 64));
    verb->add_option("--unlimited", unlimited, "Any number");
    verb->add_option("--codec", codec, "Codec")
        ->option_text("NAME")
        ->check(one_of({"h264", "h265"}, {"hevc"}));
    verb->add_option("--memory", memory, "Memory")->option_text("SIZE")->transform(byte_count(1024, 1 << 30));
    verb->add_flag("-q,--quiet", quiet, "Print nothing");
    auto* const probing = verb->add_flag("--probe", probe, "Probe");
    verb->add_option("--cpus", cpus, "CPUs")->option_text("LIST")->needs(probing);
    verb->get_option("--quiet")->excludes(probing);
    CLI::App* const profiles = app.add_subcommand("profiles", "Profiles");
    profiles->require_subcommand(1);
    profiles->add_subcommand("list", "List them");
    profiles->add_subcommand("clear", "Delete them");
  }

  // What it says to these words on standard error.
  std::string said_to(std::vector<std::string> words) {
    words.insert(words.begin(), "prog");
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    testing::internal::CaptureStderr();
    const auto end = read_command_line(app, static_cast<int>(argv.size()), argv.data(), "prog");
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(end.value_or(0), said.empty() ? 0 : 2);
    return said;
  }
};

struct Mistake {
  std::vector<std::string> words;
  std::string message;  // without the program in front and the help at the end
};

class MistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsNamedWithWhatToDo) {
  EXPECT_EQ(Program().said_to(GetParam().words), "prog: " + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, MistakeTest,
    testing::Values(
        Mistake{{"run", "a", "--frames", "0x10"},
                "--frames: 0x10 is not a decimal number; see 'prog run --help'"},
        Mistake{{"run", "a", "--frames", "0"},
                "--frames: 0 is out of range; give 1 to 100; see 'prog run --help'"},
        Mistake{{"run", "a", "--frames", "101"},
                "--frames: 101 is out of range; give at most 100; see 'prog run --help'"},
        Mistake{{"run", "a", "--frames", "many"},
                "--frames: 'many' is not a whole number; see 'prog run --help'"},
        Mistake{{"run", "a", "--frames", "1.5"},
                "--frames: '1.5' is not a whole number; see 'prog run --help'"},
        Mistake{{"run", "a", "--deadline", "nan"},
                "--deadline: 'nan' is not a number; see 'prog run --help'"},
        Mistake{{"run", "a", "--deadline", "1e999"},
                "--deadline: '1e999' is not a number; see 'prog run --help'"},
        Mistake{{"run", "a", "--deadline", "0"},
                "--deadline: '0' is not a number above 0; see 'prog run --help'"},
        Mistake{{"run", "a", "--seed", "-1"}, "--seed: -1 is below 0; give 0 or more; see 'prog run --help'"},
        Mistake{{"run", "a", "x"}, "NUMBERS...: 'x' is not a whole number; see 'prog run --help'"},
        Mistake{{"run", "a", "--memory", "lots"},
                "--memory: 'lots' is not a size; write 500M or 2G; see 'prog run --help'"},
        Mistake{{"run", "a", "--memory", "1"},
                "--memory: 1 is too small; give at least 1024; see 'prog run --help'"},
        Mistake{{"run", "a", "--memory", "9T"},
                "--memory: 9T is too large; give at most 1073741824; see 'prog run --help'"}));

INSTANTIATE_TEST_SUITE_P(
    Words, MistakeTest,
    testing::Values(
        Mistake{{"rum"}, "unknown verb 'rum'; did you mean 'run'? See 'prog --help'"},
        Mistake{{"nothing"}, "unknown verb 'nothing'; see 'prog --help'"},
        Mistake{{}, "a verb is missing; give one; see 'prog --help'"},
        Mistake{{"profiles"}, "a verb is missing; give list or clear; see 'prog profiles --help'"},
        Mistake{{"profiles", "lust"}, "unknown verb 'lust'; did you mean 'list'? See 'prog profiles --help'"},
        Mistake{{"run"},
                "INPUT is missing; usage: prog run [OPTIONS] INPUT [NUMBERS...]; see 'prog run --help'"},
        Mistake{{"run", "--thread", "2"},
                "unknown option '--thread'; did you mean '--threads'? See 'prog run --help'"},
        Mistake{{"run", "a", "--zzz=4"}, "unknown option '--zzz'; see 'prog run --help'"},
        Mistake{{"run", "a", "--codec", "h246"},
                "--codec: unknown value 'h246'; did you mean 'h264'? See "
                "'prog run --help'"},
        Mistake{{"run", "a", "--codec", "mpeg4"},
                "--codec: unknown value 'mpeg4'; use h264 or h265; see 'prog run --help'"},
        Mistake{{"run", "a", "--codec", ""},
                "--codec: the value is empty; give one, or leave the option out; see 'prog run --help'"},
        Mistake{{"run", "a", "--threads"}, "--threads needs a value: --threads N; see 'prog run --help'"},
        Mistake{{"run", "a", "-t"}, "--threads needs a value: --threads N; see 'prog run --help'"},
        Mistake{{"run", "a", "--threads", "2", "--threads", "3"},
                "--threads is given 2 times; give it once; see 'prog run --help'"},
        Mistake{{"run", "a", "--quiet=much"},
                "--quiet takes no value; leave out '=much'; see 'prog run --help'"},
        Mistake{{"run", "a", "--cpus", "1"},
                "--cpus needs --probe; add it, or leave --cpus out; see "
                "'prog run --help'"},
        Mistake{{"run", "a", "--quiet", "--probe"},
                "--quiet and --probe exclude each other; leave one out; see "
                "'prog run --help'"},
        Mistake{{"run", "--frames", "0", "--", "a"},
                "--frames: 0 is out of range; give 1 to 100; see 'prog run --help'"},
        Mistake{{"profiles", "list", "extra"},
                "unexpected argument 'extra'; leave it out, or quote words that belong "
                "together; see 'prog profiles list --help'"}));

// An option of any numeric type may have one of these checks.
TEST(NumberChecks, RefuseWhatIsNotAFiniteNumberInOneLine) {
  for (const CLI::Validator& check : {above_zero(), not_negative(), between(0.05, 100.0)}) {
    for (const char* word : {"nan", "NaN", "-nan", "nan(1)", "inf", "-inf", "Infinity", "1e999", "x"}) {
      std::string text = word;
      const std::string message = check(text);
      EXPECT_TRUE(message.starts_with(fmt::format("'{}' is not a number", word))) << word << ": " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << word;
    }
    for (const char* number : {"0.1", "1e-1", "1", "42", "100"}) {
      std::string text = number;
      EXPECT_EQ(check(text), "") << number;
    }
  }
}

TEST(CommandLine, ReadsNumbersOfVerbsAsDecimalAndLeavesNamesAlone) {
  Program program;
  EXPECT_EQ(program.said_to({"run", "007", "--frames", "010", "--seed", "18446744073709551615", "--deadline",
                             "0.5", "--codec", "hevc", "--memory", "1.5M", "--workers", "2"}),
            "");
  EXPECT_EQ(program.frames, 10);
  EXPECT_EQ(program.input, "007");
  EXPECT_EQ(program.memory, 3U << 19);
  EXPECT_EQ(program.threads, 2) << "an old name still works";
}

TEST(ByteCount, TakesBinaryUnitsInAnyCase) {
  for (const auto& [text, bytes] :
       std::array<std::pair<const char*, std::uint64_t>, 7>{{{"1024", 1024},
                                                             {"010k", 10240},
                                                             {"4K", 4096},
                                                             {"4kb", 4096},
                                                             {"4KiB", 4096},
                                                             {"0.5G", 1 << 29},
                                                             {"1073741824b", 1 << 30}}}) {
    Program program;
    EXPECT_EQ(program.said_to({"run", "a", "--memory", text}), "");
    EXPECT_EQ(program.memory, bytes) << text;
  }
}

}  // namespace
}  // namespace millrace
