#include "millrace/base/options/command_line.h"

#include "millrace/base/options/completion_script.h"
#include "millrace/base/options/help_text.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace millrace {
namespace {

// The verb that was given, and the words that name it: "millrace profiles show".
struct GivenVerb {
  CLI::App* app;
  std::string words;
};

GivenVerb given_verb(CLI::App& app, std::string_view program) {
  GivenVerb verb{&app, std::string(program)};
  while (!verb.app->get_subcommands().empty()) {
    verb.app = verb.app->get_subcommands().front();
    verb.words += " " + verb.app->get_name();
  }
  return verb;
}

std::string name_in_errors(const CLI::Option& option) {
  return option.get_positional() ? placeholder_of(option) : option.get_name();
}

std::vector<std::string_view> verb_names(CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* verb : shown_verbs(app))
    names.push_back(verb->get_name());
  return names;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-' && word != "--"; }

// "--thread", "--threads=2" or "-x".
std::string unknown_option(CLI::App& verb, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  bool runs_program = false;
  for (const CLI::Option* option : shown_options(verb))
    for (const std::string& long_name : option->get_lnames())
      known.push_back("--" + long_name);
  for (const CLI::Option* positional : positionals_of(verb))
    runs_program = runs_program || placeholder_of(*positional).starts_with("-- ");
  const std::string guess = did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()));
  return fmt::format("unknown option {}{}", in_quotes(name),
                     !guess.empty() || !runs_program ? guess : "; put the options of the program after --");
}

// An option that was given as "", for example from an unset shell variable. That is not the same as leaving
// the option out.
std::optional<std::string> option_without_value(CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->count() == 0) continue;
    if (std::ranges::any_of(option->results(), &std::string::empty))
      return fmt::format("{}: the value is empty; give one, or leave the option out", option->get_name());
  }
  for (CLI::App* verb : app.get_subcommands())
    if (auto found = option_without_value(*verb)) return found;
  return std::nullopt;
}

std::string missing_part(const GivenVerb& verb) {
  for (const CLI::Option* option : verb.app->get_options())
    if (option->get_required() && option->count() == 0)
      return fmt::format("{} is missing; usage: {}",
                         option->get_positional() ? placeholder_of(*option)
                                                  : option->get_name() + " " + placeholder_of(*option),
                         usage_of(*verb.app, verb.words));
  return fmt::format("a verb is missing; give {}",
                     verb.app->get_parent() == nullptr ? "one" : one_among(verb_names(*verb.app)));
}

std::optional<std::string> wrong_combination(CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_needs())
      if (other->count() == 0)
        return fmt::format("{} needs {}; add it, or leave {} out", name_in_errors(*option),
                           name_in_errors(*other), name_in_errors(*option));
    for (const CLI::Option* other : option->get_excludes())
      if (other->count() > 0)
        return fmt::format("{} and {} exclude each other; leave one out", name_in_errors(*option),
                           name_in_errors(*other));
  }
  return std::nullopt;
}

// An option that was given too often, or a flag that was given a value.
std::optional<std::string> wrong_count(CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    const auto most = static_cast<std::size_t>(option->get_items_expected_max());
    if (most == 0) {
      for (const std::string& value : option->results())
        if (value != "true" && value != "false")
          return fmt::format("{} takes no value; leave out {}", option->get_name(), in_quotes("=" + value));
    } else if (option->results().size() > most &&
               option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw) {
      return fmt::format("{} is given {} times; give it {}", name_in_errors(*option),
                         option->results().size(),
                         most == 1 ? "once" : fmt::format("at most {} times", most));
    }
  }
  return std::nullopt;
}

// The last word is an option that lacks its value.
std::optional<std::string> missing_value(CLI::App& verb, const std::string& last_word) {
  const CLI::Option* option = verb.get_option_no_throw(last_word);
  if (option == nullptr && last_word.size() > 2 && last_word[0] == '-' && last_word[1] != '-')
    option = verb.get_option_no_throw(std::string("-") + last_word.back());
  if (option == nullptr || option->get_items_expected_min() == 0) return std::nullopt;
  return fmt::format("{} needs a value: {} {}", option->get_name(), option->get_name(),
                     placeholder_of(*option));
}

// CLI11 starts messages of validators with the name of the option. That of an argument is not the one that
// --help shows.
std::string invalid_value(CLI::App& verb, std::string message) {
  for (const CLI::Option* positional : positionals_of(verb)) {
    const std::string start = positional->get_name(true) + ": ";
    if (message.starts_with(start)) return placeholder_of(*positional) + ": " + message.substr(start.size());
  }
  return message;
}

std::string explain(CLI::App& app, const GivenVerb& verb, const CLI::ParseError& error,
                    const std::string& last_word) {
  const std::vector<std::string> rest = app.remaining(true);
  if (const auto found = std::ranges::find_if(rest, is_option); found != rest.end())
    return unknown_option(*verb.app, *found);
  if (const auto empty = option_without_value(app)) return *empty;
  if (!rest.empty() && verb.app->get_require_subcommand_min() > 0)
    return fmt::format("unknown verb {}{}", in_quotes(rest.front()),
                       did_you_mean(rest.front(), verb_names(*verb.app)));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr ||
      dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    if (const auto wrong = wrong_count(*verb.app)) return *wrong;
    if (const auto missing = missing_value(*verb.app, last_word)) return *missing;
  }
  if (const auto wrong = wrong_combination(*verb.app)) return *wrong;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_part(verb);
  // What follows a wrong value has not been read yet.
  if (!rest.empty() && dynamic_cast<const CLI::ValidationError*>(&error) == nullptr)
    return fmt::format("unexpected argument {}; leave it out, or quote words that belong together",
                       in_quotes(rest.front()));
  return invalid_value(*verb.app, error.what());
}

int report_usage(std::string_view program, const GivenVerb& verb, const std::string& message) {
  return report_error(program,
                      {ErrorKind::usage, fmt::format("{}{} '{} --help'", message,
                                                     message.ends_with('?') ? " See" : "; see", verb.words)});
}

constexpr const char* completion_verb = "completion";

// Only if it is asked for: every option that is added delays the start of a program.
CLI::App* add_completion(CLI::App& app, std::string& shell, int argc, char** argv, std::string_view program) {
  if (argc < 2 || std::string_view(argv[1]) != completion_verb || shown_verbs(app).empty()) return nullptr;
  CLI::App* const verb =
      app.add_subcommand(completion_verb, "Print a script that completes the command line in a shell");
  verb->group("")->add_option("shell", shell, "Shell")->required()->check(one_of(completion_shells()));
  verb->footer(fmt::format("# Complete verbs, options and values in the bash of this terminal\n"
                           "eval \"$({} completion bash)\"",
                           program));
  return verb;
}

}  // namespace

std::optional<int> read_command_line(CLI::App& app, int argc, char** argv, std::string_view program) {
  std::string shell;
  const CLI::App* const completion = add_completion(app, shell, argc, argv, program);
  read_decimals(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const GivenVerb verb = given_verb(app, program);
    print_out("{}", help_text(*verb.app, verb.words, HelpStyle::of_output()));
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const GivenVerb verb = given_verb(app, program);
    return report_usage(program, verb, explain(app, verb, error, argc > 0 ? argv[argc - 1] : ""));
  }
  if (completion != nullptr) {
    print_out("{}", completion_script(app, program, shell));
    return 0;
  }
  if (const auto empty = option_without_value(app))
    return report_usage(program, given_verb(app, program), *empty);
  return std::nullopt;
}

}  // namespace millrace
