#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/daemon/daemon_request.h"
#include "millrace/placement/daemon/daemon_settings.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/run/rest_after.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <random>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

using Method = DaemonRequest::Method;
using testing::HasSubstr;

TEST(DaemonRequest, IsReadAsItWasWritten) {
  const auto watch = parse_daemon_request(daemon_request_line("Watch", {{"pid", 4711}}));
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_EQ(watch->method, Method::watch);
  EXPECT_EQ(watch->target, DaemonTarget{.process = 4711});
  const auto unwatch = parse_daemon_request(daemon_request_line("Unwatch", {{"cgroup", "/a b.slice"}}));
  EXPECT_EQ(unwatch->target.cgroup, "/a b.slice");
  EXPECT_EQ(parse_daemon_request(daemon_request_line("Watch", {{"exe", "*/x264"}}))->target.exe, "*/x264");
  EXPECT_TRUE(parse_daemon_request(daemon_request_line("Status", {{"threads", true}}))->threads);
  EXPECT_EQ(parse_daemon_request(daemon_request_line("Explain", {{"program", "x264"}}))->program, "x264");
  EXPECT_TRUE(parse_daemon_request(daemon_request_line("Pause", {{"resume", true}}))->resume);
  EXPECT_EQ(parse_daemon_request(R"({"method":"org.varlink.service.GetInfo"})")->method, Method::info);
}

class RefusedRequests : public testing::TestWithParam<const char*> {};

TEST_P(RefusedRequests, AreToldWhyInOneLine) {
  const auto request = parse_daemon_request(GetParam());
  ASSERT_FALSE(request);
  EXPECT_FALSE(request.error().message.empty());
  EXPECT_EQ(request.error().message.find_first_of("\n\x1b"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, RefusedRequests,
    testing::Values("", "{", "[]", "12", "\xff\xfe", R"({"parameters":{}})", R"({"method":7})",
                    R"({"method":"Watch"})", R"({"method":"org.millrace.daemon1.Wa\u001b[2Jtch"})",
                    R"({"method":"org.millrace.daemon1.Watch"})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":[]})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":0}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":-1}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":1.5}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":"1"}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":18446744073709551615}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"pid":1,"exe":"*"}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"exe":"\u001b]0;x\u0007"}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"exe":""}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"cgroup":"/a/../../etc"}})",
                    R"({"method":"org.millrace.daemon1.Watch","parameters":{"cgroup":"a"}})",
                    R"({"method":"org.millrace.daemon1.Announce","parameters":{"exe":"*"}})",
                    R"({"method":"org.millrace.daemon1.Explain"})",
                    R"({"method":"org.millrace.daemon1.Status","parameters":{"threads":1}})",
                    R"({"method":"org.millrace.daemon1.Status","parameters":{"\n":1}})"));

TEST(DaemonRequest, OfAnyDepthOrLengthIsAnswered) {
  EXPECT_FALSE(parse_daemon_request(std::string(longest_request, '[')));
  EXPECT_FALSE(parse_daemon_request(std::string(longest_request + 1, ' ')));
}

TEST(DaemonSettings, ObserveOnlyUnlessTheySayOtherwise) {
  const auto none = parse_daemon_settings("", "daemon.toml");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, DaemonSettings());
  EXPECT_FALSE(none->acts_on({.user = 0, .exe = "/bin/x", .cgroup = "/"}));
}

TEST(DaemonSettings, SayWhoIsPlacedAndWhoIsNotWatched) {
  const auto read = parse_daemon_settings(R"(
act = true
rule = "workover"
judge = false
budget = 2
machine = "believe"
metrics = "127.0.0.1:9464"
[levels]
numa = false
[[include]]
exe = "*/x264"
uid = 1000
act = false
[[exclude]]
cgroup = "/system.slice/*"
)",
                                          "daemon.toml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->rule, DaemonSettings::Rule::workover);
  EXPECT_FALSE(read->judge);
  EXPECT_TRUE(read->believe_machine);
  EXPECT_EQ(read->budget_percent, 2);
  EXPECT_TRUE(read->levels.llc);
  EXPECT_FALSE(read->levels.numa);
  EXPECT_FALSE(read->acts_on({.user = 1000, .exe = "/usr/bin/x264", .cgroup = "/"}));
  EXPECT_TRUE(read->acts_on({.user = 1001, .exe = "/usr/bin/x264", .cgroup = "/"}));
  EXPECT_NE(DaemonSettings::first_of(read->exclude, {.user = 0, .exe = "", .cgroup = "/system.slice/a"}),
            nullptr);
  EXPECT_EQ(DaemonSettings::first_of(read->exclude, {.user = 0, .exe = "/bin/a", .cgroup = ""}), nullptr);
}

struct WrongSettings {
  const char* text;
  const char* message;
};
class WrongSettingsTest : public testing::TestWithParam<WrongSettings> {};

TEST_P(WrongSettingsTest, AreToldWithTheirLine) {
  const auto read = parse_daemon_settings(GetParam().text, "daemon.toml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, WrongSettingsTest,
    testing::Values(
        WrongSettings{"\nact = 1", "daemon.toml:2: act must be true or false"},
        WrongSettings{"akt = true", "did you mean 'act'"}, WrongSettings{"rule = \"best\"", "rule must be"},
        WrongSettings{"budget = 0", "budget must be"}, WrongSettings{"budget = nan", "budget must be"},
        WrongSettings{"metrics = \"0.0.0.0:9464\"", "a port of this machine"},
        WrongSettings{"metrics = \"127.0.0.1:0\"", "a port of this machine"},
        WrongSettings{"levels = 1", "levels must be"}, WrongSettings{"[levels]\nl3 = true", "'l3'"},
        WrongSettings{"[[include]]\nact = true", "must say exe, cgroup or uid"},
        WrongSettings{"[[exclude]]\nact = true", "'act'"},
        WrongSettings{"[[include]]\nuid = -1", "number of a user"},
        WrongSettings{"[[include]]\nexe = \"\\u001b\"", "pattern"},
        WrongSettings{"include = [1]", "list of tables"}, WrongSettings{"act = ", "not valid TOML"}));

TEST(DaemonSettings, AreTheDefaultsWhereThereIsNoFileUnlessItWasNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_daemon_settings(folder / "daemon.toml", false).value(), DaemonSettings());
  EXPECT_FALSE(read_daemon_settings(folder / "daemon.toml", true));
  EXPECT_FALSE(read_daemon_settings(folder.path(), false));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("/dev/zero")}) {
    const auto refused = read_daemon_settings(path, true);  // and does not wait for a writer
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(refused.error().message, HasSubstr("'" + path + "': no regular file"));
  }
  make_file(folder / "daemon.toml", "act = true");
  EXPECT_TRUE(read_daemon_settings(folder / "daemon.toml", false)->act);
}

TEST(Patterns, FitAsInAShell) {
  for (const char* text : {"/usr/bin/x264", "x264", "/x264"})
    EXPECT_TRUE(fits_pattern("*x264", text)) << text;
  EXPECT_TRUE(fits_pattern("/usr/*/x26?", "/usr/local/bin/x265"));
  EXPECT_TRUE(fits_pattern("*a*b", "aab.ab"));
  EXPECT_TRUE(fits_pattern("", ""));
  EXPECT_TRUE(fits_pattern("**", ""));
  EXPECT_FALSE(fits_pattern("?", ""));
  EXPECT_FALSE(fits_pattern("*a*b", "aab.abc"));
  EXPECT_FALSE(fits_pattern("x264", "x264 "));
}

// A literal implementation of the definition, however slow.
bool fits_by_trying(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return fits_by_trying(pattern.substr(1), text) ||
           (!text.empty() && fits_by_trying(pattern, text.substr(1)));
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         fits_by_trying(pattern.substr(1), text.substr(1));
}

TEST(Patterns, FitWhatTryingEverythingFits) {
  std::mt19937 random(1);
  const auto word = [&](std::string_view letters, std::size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& c : text)
      c = letters[random() % letters.size()];
    return text;
  };
  int fit = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string pattern = word("ab?*", 8);
    const std::string text = word("ab", 10);
    const bool fits = fits_by_trying(pattern, text);
    EXPECT_EQ(fits_pattern(pattern, text), fits) << pattern << " " << text;
    fit += fits ? 1 : 0;
  }
  EXPECT_GT(fit, 1000);
  // Crosses the boundaries of the words that hold the places.
  for (std::size_t length = 60; length < 140; ++length) {
    std::string text(length, 'a');
    EXPECT_TRUE(fits_pattern("*" + std::string(length, '?'), text));
    EXPECT_TRUE(fits_pattern(text + "*", text));
    EXPECT_FALSE(fits_pattern(std::string(length + 1, '?') + "*", text));
    text.back() = 'b';
    EXPECT_TRUE(fits_pattern(std::string(length - 1, '?') + "b", text));
    EXPECT_FALSE(fits_pattern(std::string(length - 1, '?') + "a", text));
  }
}

TEST(Patterns, TakeNoLongerThanTheirLengthsWhoeverMadeThem) {
  constexpr std::size_t half = 32'000;
  const std::string text(2 * half, 'a');
  const std::int64_t before = thread_cpu_time_ns();
  EXPECT_FALSE(fits_pattern("*" + std::string(half, '?') + "b", text));
  EXPECT_FALSE(fits_pattern("*" + std::string(half, 'a') + "b", text));
  EXPECT_FALSE(fits_pattern("*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
  constexpr std::int64_t most_ns =
      1'000'000'000;  // one step for each pair of bytes would take several times as long
  EXPECT_LT(thread_cpu_time_ns() - before, most_ns);
}

TEST(ProcessIdentity, IsReadFromWhatTheKernelSays) {
  EXPECT_EQ(parse_process_meant_by("pos:\t0\nflags:\t02000002\nPid:\t17\nNSpid:\t17\n"), 17);
  EXPECT_FALSE(parse_process_meant_by("pos:\t0\nPid:\t-1\n"));
  EXPECT_FALSE(parse_process_meant_by("pos:\t0\nflags:\t0100000\nPidx: 5\n"));
  const auto users = parse_users("Name:\tx\nUmask:\t0022\nUid:\t1000\t0\t1000\t1000\nGid:\t5\n");
  ASSERT_TRUE(users);
  EXPECT_FALSE(users->all(1000));  // set-user-ID: not entirely its user's
  EXPECT_TRUE(parse_users("Uid:\t7\t7\t7\t7")->all(7));
  EXPECT_FALSE(parse_users("Uid:\t7\t7"));
  EXPECT_EQ(parse_cgroup("4:memory:/m\n0::/user.slice/a:b\n"), "/user.slice/a:b");
  EXPECT_EQ(parse_cgroup("4:memory:/m\n1:cpu:/\n0::/\n"), "/m");
  EXPECT_EQ(parse_cgroup("damaged"), "");
}

TEST(ProcessIdentity, OfADescriptorIsThatOfItsProcessWhileItLives) {
  Descriptor descriptor;
  pid_t number = 0;
  {
    const ForkedProcess process;
    number = process.number();
    descriptor = open_process(number);
    EXPECT_EQ(process_meant_by(descriptor.get()), number);
    EXPECT_TRUE(users_of(number)->all(geteuid()));
    EXPECT_EQ(traits_of(number)->exe, traits_of(getpid())->exe);
  }
  EXPECT_FALSE(process_meant_by(descriptor.get()));
  EXPECT_FALSE(open_process(number).is_open());
  EXPECT_FALSE(process_meant_by(0x7fffffff));
}

}  // namespace
}  // namespace millrace::placement
