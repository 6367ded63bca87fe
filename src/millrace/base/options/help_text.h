// help_text: what `PROGRAM [VERB] --help` prints, from the definitions of the options.
//
//   CLI::App* verb = app.add_subcommand("run", "Run a filter pipeline over a video");
//   verb->option_defaults()->group("Encoding");   // the heading of the next options
//   verb->add_option("--crf", crf, "Quality")->option_text("N")->check(between(0, 63))->default_str("23");
//   verb->footer("# Blur a video\nmillrace run blur in.mp4 -o out.mp4");  // examples
//   print_out("{}", help_text(*verb, "millrace run", HelpStyle::of_output()));
//
// The first line of a verb's description is its summary. The first long name of an option is public. Other
// long names are old ones: they still work, but are not shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace millrace {

// How the text is laid out.
struct HelpStyle {
  int width = 80;
  bool colour = false;

  // For standard output: COLUMNS, or else the width of the terminal, at most 100. Colour on a terminal,
  // unless NO_COLOR is set or TERM is "dumb".
  [[nodiscard]] static HelpStyle of_output();
};

// words: the program and its verb, "millrace run".
[[nodiscard]] std::string help_text(CLI::App& app, std::string_view words, const HelpStyle& style);

// "millrace run [OPTIONS] PIPELINE INPUT"
[[nodiscard]] std::string usage_of(CLI::App& app, std::string_view words);

// "-o,--output FILE" as people write it: "-o, --output FILE". For a positional argument its placeholder.
[[nodiscard]] std::string shown_name(const CLI::Option& option);
// The placeholder of its value: "FILE". Empty for a flag.
[[nodiscard]] std::string placeholder_of(const CLI::Option& option);

// The options that --help shows, and the positional arguments.
[[nodiscard]] std::vector<CLI::Option*> shown_options(CLI::App& app);
[[nodiscard]] std::vector<CLI::Option*> positionals_of(CLI::App& app);
// The verbs that --help shows.
[[nodiscard]] std::vector<CLI::App*> shown_verbs(CLI::App& app);
// The first line of its description.
[[nodiscard]] std::string summary_of(const CLI::App& app);

}  // namespace millrace
