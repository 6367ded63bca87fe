#include "millrace/report/units/units_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json thread_of(int number, const char* name, double busy, json demand, int cpu) {
  return {{"thread", number}, {"name", name}, {"busy", busy}, {"demand", std::move(demand)},
          {"cpu", cpu},       {"samples", 96}};
}

json status_of_two() {
  return {
      {"daemon", {{"seconds", 10.0}, {"cpu_seconds", 0.05}, {"lacks", {"No room for journals."}}}},
      {"groups", {"0,2", "1,3"}},
      {"programs",
       {{{"name", "x264"},
         {"pid", 4711},
         {"state", "placed"},
         {"reason", "Keeps two apart."},
         {"threads", 2},
         {"busy", 1.5},
         {"demand", {{"simd", 0.75}, {"int", 0.25}}},
         {"gain_predicted", 0.12},
         {"moves", 3},
         {"events", {"12 s: threads 1 and 2 were on one core"}},
         {"thread_list",
          {thread_of(1, "encoder", 0.9, {{"simd", 1.0}}, 0), thread_of(2, "<lookahead>", 0.6, nullptr, 3)}}},
        {{"name", "idle"}, {"state", "not in conflict"}, {"threads", 1}}}}};
}

TEST(UnitsPage, TellsOfEachProgramItsThreadsAndWhereTheyAre) {
  const std::string page = units_page(status_of_two());
  for (const char* expected :
       {"2 programs are watched, 1 placed", "watching took 0.50 % of a CPU", "No room for journals.", "CPU 2",
        "encoder", "process 4711", "Keeps two apart.", "+12.0 %", "SIMD 75 %",
        "threads 1 and 2 were on one core", "not yet known"})
    EXPECT_THAT(page, HasSubstr(expected));
}

TEST(UnitsPage, TakesNamesForText) {
  json status = status_of_two();
  status["programs"][0]["name"] = "<script>alert(1)</script>\x1b[2J";
  const std::string page = units_page(status);
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;lookahead&gt;"));
}

TEST(UnitsPage, IsMadeOfWhateverADaemonAnswers) {
  for (const json& status :
       {json(), json::array(), json{{"programs", 3}},
        json{{"programs", {1, nullptr, "x"}}, {"groups", {1, "x-", "0-3"}}},
        json{{"programs", {{{"thread_list", {1, {{"busy", "much"}, {"demand", {{"fp", -1}}}}}}}}}}})
    EXPECT_THAT(units_page(status), HasSubstr("</html>"));
}

}  // namespace
}  // namespace millrace::report
