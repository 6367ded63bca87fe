#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/batch/job_file.h"

#include <array>
#include <chrono>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;
using Words = std::map<std::string, std::vector<std::string>>;

constexpr std::array<std::string_view, 5> keys{"at", "crf", "input", "output", "pipeline"};

TEST(JobFile, TomlAndLinesOfJsonSayTheSame) {
  const auto toml = parse_toml_jobs(R"(
pipeline = "@A"
crf = 20
[[job]]
input = "a.mp4"

[[job]]
input = ["b.mp4", "c.mp4"]
pipeline = "blur"
at = []
)",
                                    "jobs.toml", keys);
  const auto json = parse_json_jobs(R"({"pipeline": "@A", "crf": 20, "input": "a.mp4"}

{"input": ["b.mp4", "c.mp4"], "pipeline": "blur", "at": [], "crf": 20})",
                                    "jobs", keys);
  ASSERT_TRUE(toml) << toml.error().message;
  ASSERT_TRUE(json) << json.error().message;
  ASSERT_EQ(toml->size(), 2U);
  ASSERT_EQ(json->size(), 2U);
  EXPECT_EQ((*toml)[0].words, (Words{{"crf", {"20"}}, {"input", {"a.mp4"}}, {"pipeline", {"@A"}}}));
  EXPECT_EQ((*toml)[1].words,
            (Words{{"at", {}}, {"crf", {"20"}}, {"input", {"b.mp4", "c.mp4"}}, {"pipeline", {"blur"}}}));
  EXPECT_EQ((*toml)[1].place, "jobs.toml:7");
  EXPECT_EQ((*json)[1].place, "jobs:3");
  for (std::size_t j = 0; j < 2; ++j)
    EXPECT_EQ((*toml)[j].words, (*json)[j].words);
}

struct Bad {
  const char* text;
  const char* message;
};

class BadToml : public ::testing::TestWithParam<Bad> {};
TEST_P(BadToml, IsNamedWithItsLine) {
  const auto jobs = parse_toml_jobs(GetParam().text, "jobs.toml", keys);
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().kind, ErrorKind::usage);
  EXPECT_THAT(jobs.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(jobs.error().message.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Files, BadToml,
    ::testing::Values(Bad{"", "jobs.toml: no [[job]]"}, Bad{"crf = 3", "jobs.toml: no [[job]]"},
                      Bad{"job = 3", "jobs.toml:1: write [[job]]"},
                      Bad{"[[job]]\ninptu = \"a\"",
                          "jobs.toml:2: a job has no 'inptu'; did you mean 'input'?"},
                      Bad{"pipline = \"a\"\n[[job]]", "jobs.toml:1: a job has no 'pipline'"},
                      Bad{"[[job]]\ninput = {a = 1}", "jobs.toml:2: input must be"},
                      Bad{"[[job]]\ninput = [[1]]", "jobs.toml:2: input must be"},
                      Bad{"[[job]]\ninput = \"a", "jobs.toml:2: "},
                      Bad{R"([[job]]
input = "a\u0000.mp4")",
                          "jobs.toml:2: input holds a NUL character"},
                      Bad{"job = [1]", "jobs.toml:1: a job must"}));

class BadJson : public ::testing::TestWithParam<Bad> {};
TEST_P(BadJson, IsNamedWithItsLine) {
  const auto jobs = parse_json_jobs(GetParam().text, "jobs", keys);
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().kind, ErrorKind::usage);
  EXPECT_THAT(jobs.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(jobs.error().message.find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Files, BadJson,
    ::testing::Values(Bad{"", "jobs: holds no job"}, Bad{"\n \n", "jobs: holds no job"},
                      Bad{"{}\n[1]", "jobs:2: is not a JSON object"},
                      Bad{"{\"input\": \"a\"", "jobs:1: is not a JSON"},
                      Bad{"{\"intput\": \"a\"}", "jobs:1: a job has no 'intput'; did you mean 'input'?"},
                      Bad{"{\"input\": null}", "jobs:1: input must be"},
                      Bad{"{\"input\": {\"a\": 1}}", "jobs:1: input must be"},
                      Bad{"{\"input\": [[\"a\"]]}", "jobs:1: input must be"},
                      Bad{"{\"input\": \"a\", \"crf\": 1, \"input\": \"b\"}", "jobs:1: input is given twice"},
                      Bad{R"({"input": ["a", "b\u0000.mp4"]})", "jobs:1: input holds a NUL character"},
                      Bad{"3", "jobs:1: is not a JSON object"}, Bad{"{} {}", "jobs:1: is not a JSON object"},
                      Bad{"{\"input\": \"\xff\"}", "jobs:1: is not a JSON object"}));

// Reading it completely first would take gigabytes.
TEST(JobFile, ALineThatIsNestedWithoutEndIsRefusedAtItsBeginning) {
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const auto before = peak_kib();
  for (const std::string begin : {"", "{\"input\": "}) {
    const std::string deep = begin + std::string(std::size_t{1} << 25, '[');
    const auto jobs = parse_json_jobs(deep, "jobs", keys);
    ASSERT_FALSE(jobs);
    EXPECT_THAT(jobs.error().message, HasSubstr("jobs:1: "));
    EXPECT_LT(jobs.error().message.size(), 300U);
  }
  EXPECT_LT(peak_kib() - before, 400'000);
}

TEST(JobFile, AWaitForOneThatIsAPipeCanBeStopped) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::stop_source stop;
  std::jthread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  const auto jobs = read_job_file(folder / "pipe", keys, stop.get_token());
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().kind, ErrorKind::interrupted);
}

TEST(JobFile, IsReadByItsName) {
  const TemporaryFolder folder;
  make_file(folder / "a.toml", "[[job]]\ninput = 'x'");
  make_file(folder / "a.jsonl", "{\"input\": \"x\"}\n");
  for (const char* name : {"a.toml", "a.jsonl"}) {
    const auto jobs = read_job_file(folder / name, keys);
    ASSERT_TRUE(jobs) << jobs.error().message;
    EXPECT_EQ((*jobs)[0].words, (Words{{"input", {"x"}}}));
  }
  EXPECT_FALSE(read_job_file(folder / "missing.toml", keys));
}

}  // namespace
}  // namespace millrace::run
