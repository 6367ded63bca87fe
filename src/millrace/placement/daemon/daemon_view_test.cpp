#include "millrace/base/text/printable.h"
#include "millrace/placement/daemon/daemon_view.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using nlohmann::json;

json everything() {
  const json thread = {
      {"thread", 5},        {"name", "render"},        {"busy", 0.5}, {"cpu", 1}, {"kept_on", "0-1"},
      {"left_alone", true}, {"demand", {{"int", 1.0}}}};
  const json program = {{"pid", 4},
                        {"name", "program"},
                        {"user", 0},
                        {"threads", 1},
                        {"busy", 0.5},
                        {"state", "placed"},
                        {"trouble", "none"},
                        {"reason", "why"},
                        {"exe", "/bin/program"},
                        {"cgroup", "/group"},
                        {"allowed", "0-1"},
                        {"events", {"one", "two"}},
                        {"demand", {{"int", 1.0}}},
                        {"thread_list", {thread, thread}}};
  return {{"daemon",
           {{"pid", 1},
            {"user", 0},
            {"places_nothing_as", "it is one"},
            {"lacks", {"this"}},
            {"missing", "that"}}},
          {"rules", {{{"exe", "/bin/*"}, {"cgroup", "/group"}}}},
          {"groups", {"0-1"}},
          {"programs", {program, program}}};
}

// Surrounds every text in it, at any depth, with terminal control sequences.
json made_hostile(json value) {
  if (value.is_string()) return "\x1b]0;T\x07\x1b[31m\n" + value.get<std::string>() + "\xff\u202e\r";
  if (value.is_structured())
    for (auto& member : value)
      member = made_hostile(member);
  return value;
}

TEST(DaemonView, WhateverADaemonSaysOnlyTextReachesTheTerminal) {
  json hostile = made_hostile(everything());
  hostile["groups"] = everything()["groups"];
  for (const auto& lines : {status_view(hostile), top_view(hostile, 100), explain_view(hostile)}) {
    ASSERT_FALSE(lines.empty());
    for (const ViewLine& line : lines)
      EXPECT_EQ(printable(to_text(line)), to_text(line));
  }
  EXPECT_EQ(top_view(hostile, 100).size(), top_view(everything(), 100).size());
}

}  // namespace
}  // namespace millrace::placement
