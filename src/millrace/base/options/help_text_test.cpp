#include "millrace/base/options/help_text.h"
#include "millrace/base/options/option_values.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct Verb {
  CLI::App app{"Run a filter pipeline over a video\n\nA second paragraph explains more."};
  std::string text;
  int number = 0;
  bool flag = false;

  Verb() {
    app.add_option("pipeline", text,
                   "Filters in the pipeline language, which is explained elsewhere at length")
        ->required();
    app.add_option("second", text, "Second video");
    app.add_option("-o,--output,--out", text, "Output")->option_text("FILE");
    app.add_flag("-y,--force", flag, "Overwrite existing outputs");
    app.option_defaults()->group("Schedule");
    app.add_option("--threads", number, "Worker threads")->check(between(1, 64))->default_str("all CPUs");
    app.add_option("--structure", text, "Execution structure")
        ->option_text("NAME")
        ->check(one_of({"tiled", "sliding"}));
    app.add_flag("--old", flag, "Old")->group("");
    app.footer("# Blur two clips\nrun 'blur | box(2)' clip.mp4 -o 'out with blanks.mp4' --threads 12 "
               "--structure tiled");
  }
};

TEST(HelpText, NamesArgumentsOptionsByGroupAndExamples) {
  Verb verb;
  EXPECT_EQ(help_text(verb.app, "prog run", {.width = 80}),
            R"(Run a filter pipeline over a video

A second paragraph explains more.

Usage: prog run [OPTIONS] PIPELINE [SECOND]

Arguments:
  PIPELINE              Filters in the pipeline language, which is explained
                        elsewhere at length
  SECOND                Second video

Options:
  -o, --output FILE     Output
  -y, --force           Overwrite existing outputs
  -h, --help            Print this help message and exit

Schedule:
      --threads N       Worker threads (1 to 64) [default: all CPUs]
      --structure NAME  Execution structure: tiled, sliding

Example:
  # Blur two clips
  run 'blur | box(2)' clip.mp4 -o 'out with blanks.mp4' --threads 12 \
      --structure tiled
)");
}

TEST(HelpText, StaysWithinAnyWidth) {
  Verb verb;
  for (int width = 40; width <= 120; ++width) {
    std::istringstream lines(help_text(verb.app, "prog run", {.width = width}));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
  }
}

TEST(HelpText, InColourSaysTheSame) {
  Verb verb;
  const std::string coloured = help_text(verb.app, "prog run", {.width = 70, .colour = true});
  EXPECT_NE(coloured.find("\033[1m-o, --output FILE\033[0m"), std::string::npos);
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\033\\[[01]m"), ""),
            help_text(verb.app, "prog run", {.width = 70}));
}

TEST(HelpText, ListsVerbsByGroup) {
  CLI::App app("Do things");
  app.require_subcommand(1);
  app.add_subcommand("run", "Run\n\nMore about it")->group("Video");
  app.add_subcommand("exec", "Execute")->group("Programs");
  app.add_subcommand("batch", "Run many")->group("Video");
  app.add_subcommand("hidden", "Hide")->group("");
  EXPECT_EQ(help_text(app, "prog", {.width = 80}), R"(Do things

Usage: prog VERB [OPTIONS]

Video:
  run         Run
  batch       Run many

Programs:
  exec        Execute

Options:
  -h, --help  Print this help message and exit
)");
}

}  // namespace
}  // namespace millrace
