#include "millrace/base/options/command_line.h"
#include "millrace/base/options/help_text.h"
#include "millrace/cli/all_verbs.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/run/options/run_options.h"
#include "millrace/video/sample_format.h"
#include "millrace/video/writer.h"

#include <cctype>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

struct Program {
  CLI::App app;
  Action action;
  Program() { add_all_verbs(app, action, placement::IgnoredSignals::now()); }

  // Calls `check` for the program and all its verbs.
  void for_each(const std::function<void(CLI::App&, const std::string& words)>& check) {
    visit(app, "millrace", check);
  }

 private:
  static void visit(CLI::App& verb, const std::string& words,
                    const std::function<void(CLI::App&, const std::string&)>& check) {
    SCOPED_TRACE(words);
    check(verb, words);
    for (CLI::App* below : shown_verbs(verb))
      visit(*below, words + " " + below->get_name(), check);
  }
};

bool stands_alone(const std::string& text) {
  for (const char* start : {"of ", "as of ", "that ", "which ", "Of ", "As of ", "That ", "Which ", "As "})
    if (text.starts_with(start)) return false;
  return !text.empty() &&
         (std::isupper(static_cast<unsigned char>(text.front())) != 0 || text.starts_with(".toml"));
}

TEST(AllVerbs, ExplainEveryOptionInWordsThatStandAlone) {
  Program().for_each([](CLI::App& verb, const std::string&) {
    EXPECT_TRUE(stands_alone(verb.get_description())) << verb.get_description();
    EXPECT_FALSE(verb.get_description().ends_with('\n'));
    for (const CLI::Option* option : verb.get_options()) {
      if (option->get_group().empty()) continue;
      EXPECT_TRUE(stands_alone(option->get_description()))
          << option->get_name() << ": " << option->get_description();
      EXPECT_FALSE(option->get_description().ends_with('.')) << option->get_name();
    }
  });
}

TEST(AllVerbs, GiveTheValueOfEveryOptionAName) {
  Program().for_each([](CLI::App& verb, const std::string&) {
    for (const CLI::Option* option : shown_options(verb)) {
      if (option->get_items_expected_max() == 0) continue;
      const std::string type = option->get_type_name();
      const bool is_number = type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
      EXPECT_TRUE(is_number || !option->get_option_text().empty()) << option->get_name();
      EXPECT_TRUE(is_number ||
                  std::isupper(static_cast<unsigned char>(placeholder_of(*option).front())) != 0 ||
                  placeholder_of(*option).starts_with('['))
          << option->get_name();
    }
  });
}

TEST(AllVerbs, ShowAtMostSevenOptionsBeforeTheGroups) {
  Program().for_each([](CLI::App& verb, const std::string&) {
    int first = 0;
    for (const CLI::Option* option : shown_options(verb))
      first += option->get_group() == "Options" ? 1 : 0;
    EXPECT_LE(first, 7);
  });
}

TEST(AllVerbs, HaveHelpWithinTheWidthOfTheTerminal) {
  Program().for_each([](CLI::App& verb, const std::string& words) {
    for (const int width : {50, 80, 100, 132}) {
      std::istringstream lines(help_text(verb, words, {.width = width}));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
        for (const char c : line)
          EXPECT_TRUE(c >= ' ' && c <= '~') << line;
      }
    }
  });
}

// Words of a shell command up to a pipe.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : command) {
    if (quote == 0 && c == '|') break;
    if (quote == 0 && c == ' ')
      words.emplace_back();
    else if (quote == 0 && c == '\'')
      quote = c;
    else if (c == quote)
      quote = 0;
    else
      words.back() += c;
  }
  while (words.back().empty())
    words.pop_back();
  return words;
}

TEST(AllVerbs, HaveExamplesThatParse) {
  Program().for_each([](CLI::App& verb, const std::string& words) {
    std::istringstream lines(verb.get_footer());
    int commands = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      ++commands;
      std::vector<std::string> parts = words_of(line);
      ASSERT_EQ(parts.front(), "millrace") << line;
      if (parts[1] == "help") continue;
      std::vector<char*> argv;
      for (std::string& part : parts)
        argv.push_back(part.data());
      Program fresh;
      EXPECT_EQ(read_command_line(fresh.app, static_cast<int>(argv.size()), argv.data(), "millrace"),
                std::nullopt)
          << line;
    }
    EXPECT_GE(commands, 1) << words;
  });
}

// The words that an option offers, which are spelt out here, are those that its reader takes.
TEST(AllVerbs, OfferTheWordsThatAreUnderstood) {
  Program program;
  CLI::App* const run = program.app.get_subcommand("run");
  const auto offered = [run](const char* option) { return values_of(*run->get_option(option)).words; };
  const auto unknown = video::parse_codec("no codec");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().message.ends_with(fmt::format("use {}", fmt::join(offered("--codec"), ", "))))
      << unknown.error().message;
  for (const std::string& word : offered("--planes"))
    EXPECT_TRUE(image::parse_planes(word)) << word;
  for (const std::string& word : offered("--format"))
    EXPECT_TRUE(video::parse_sample_format(word)) << word;
  for (const std::string& word : offered("--on-damage")) {
    run::RunOptions options;
    options.on_damage = word;
    EXPECT_TRUE(run::on_damage_of(options)) << word;
  }
}

TEST(AllVerbs, KeepTheirOldNames) {
  Program program;
  EXPECT_EQ(program.app.get_subcommand("cut"), program.app.get_subcommand("split"));
}

TEST(AllVerbs, KeepOldNamesOfOptions) {
  Program program;
  for (const auto& [verb, name] : {std::pair{"batch", "--side-by-side"},
                                   {"exec", "--birth"},
                                   {"exec", "--priority"},
                                   {"split", "--link"},
                                   {"split", "--patience"},
                                   {"model", "--beside"},
                                   {"study", "--input"}}) {
    CLI::App* const app = program.app.get_subcommand(verb);
    ASSERT_NE(app->get_option_no_throw(name), nullptr) << name;
    EXPECT_EQ(help_text(*app, verb, {}).find(std::string(name) + " "), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace millrace::cli
