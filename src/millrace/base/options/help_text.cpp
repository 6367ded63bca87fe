#include "millrace/base/options/help_text.h"

#include "millrace/base/options/option_values.h"
#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>

namespace millrace {
namespace {

constexpr int usual_width = 80;
constexpr int narrowest = 40;
constexpr int widest_terminal = 100;  // longer lines are hard to read
constexpr int widest_name = 24;       // a longer name has a line of its own

const char* variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): there is one thread
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// Words of a shell command, which may contain quoted blanks.
OptionWords shell_words(std::string_view command) {
  OptionWords words(1);
  char quote = 0;
  for (const char c : command) {
    if (c == ' ' && quote == 0) {
      words.emplace_back();
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    words.back() += c;
  }
  return words;
}

struct Entry {
  std::string name;
  std::string text;
};

struct Section {
  std::string heading;
  std::vector<Entry> entries;
};

// Lays out text. Escape sequences take no width.
class Page {
 public:
  explicit Page(const HelpStyle& style) : style_(style) {}

  // Words from `column` on. The first line already has `used` characters.
  void wrap(std::string_view text, int column, int used, std::string_view end_of_line = "") {
    put_words(split(text), column, used, end_of_line);
  }

  void paragraphs(std::string_view text) {
    while (true) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      wrap(text.substr(0, end), 0, 0);
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }

  void usage(std::string_view usage) {
    text_ += "\n" + strong("Usage:");
    put_words(split(usage), 4, static_cast<int>(std::string_view("Usage:").size()), "");
  }

  void section(const Section& section, int name_width) {
    text_ += "\n" + strong(section.heading + ":") + "\n";
    for (const Entry& entry : section.entries) {
      text_ += "  " + strong(entry.name);
      const int used = 2 + static_cast<int>(entry.name.size());
      const bool apart = style_.width < 60;
      const int column = apart ? 6 : name_width + 4;
      if (apart || used + 2 > column) {
        text_ += '\n';
        wrap(entry.text, column, 0);
      } else {
        wrap(entry.text, column, used);
      }
    }
  }

  // "# Comment" and commands, one a line.
  void examples(std::string_view text) {
    const bool several = std::ranges::count(text, '#') > 1;
    text_ += "\n" + strong(several ? "Examples:" : "Example:") + "\n";
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      if (line.starts_with('#'))
        put_words(split(line), 2, 0, "", "# ");
      else
        put_words(shell_words(line), 2, 0, " \\");
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  [[nodiscard]] std::string strong(const std::string& text) const {
    return style_.colour ? "\033[1m" + text + "\033[0m" : text;
  }

  std::string text_;

 private:
  static OptionWords split(std::string_view text) {
    OptionWords words;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) words.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
  }

  // mark: what each further line starts with. Further lines of a command are indented.
  void put_words(const OptionWords& words, int column, int used, std::string_view end_of_line,
                 std::string_view mark = "") {
    const int room = style_.width - static_cast<int>(end_of_line.size());
    bool first_in_line = true;
    if (used < column) {
      text_.append(static_cast<std::size_t>(column - used), ' ');
      used = column;
    } else if (used > 0) {
      text_ += ' ';
      ++used;
    }
    const int further = end_of_line.empty() ? column : column + 4;
    for (const std::string& word : words) {
      const int size = static_cast<int>(word.size());
      if (!first_in_line && used + 1 + size > room) {
        text_ += end_of_line;
        text_ += '\n';
        text_.append(static_cast<std::size_t>(further), ' ');
        text_ += mark;
        used = further + static_cast<int>(mark.size());
        first_in_line = true;
      }
      if (!first_in_line) {
        text_ += ' ';
        ++used;
      }
      text_ += word;
      used += size;
      first_in_line = false;
    }
    text_ += '\n';
  }

  HelpStyle style_;
};

std::string text_of(CLI::Option& option) {
  std::string text = option.get_description();
  const ShownValues values = values_of(option);
  if (values.are_listed) text += fmt::format(": {}", fmt::join(values.words, ", "));
  if (!values.range.empty()) text += fmt::format(" ({})", values.range);
  if (const std::string usual = option.get_default_str(); !usual.empty() && option.get_expected_min() > 0)
    text += fmt::format(" [default: {}]", usual);
  return text;
}

// The options by their groups, in order of definition. --help and --version end the first group.
std::vector<Section> option_sections(CLI::App& app) {
  std::vector<Section> sections;
  std::vector<CLI::Option*> options = shown_options(app);
  std::ranges::stable_partition(options, [&app](const CLI::Option* option) {
    return option != app.get_help_ptr() && option != app.get_version_ptr();
  });
  const bool has_first =
      std::ranges::any_of(options, [](const CLI::Option* o) { return o->get_group() == "Options"; });
  if (has_first) sections.push_back({"Options", {}});
  for (CLI::Option* option : options) {
    auto found = std::ranges::find(sections, option->get_group(), &Section::heading);
    if (found == sections.end()) found = sections.insert(found, {option->get_group(), {}});
    found->entries.push_back({shown_name(*option), text_of(*option)});
  }
  return sections;
}

std::vector<Section> verb_sections(CLI::App& app) {
  std::vector<Section> sections;
  for (CLI::App* verb : shown_verbs(app)) {
    // CLI11 lets verbs inherit the group of the verb above them.
    const bool is_grouped = app.get_parent() == nullptr && verb->get_group() != "Subcommands";
    const std::string heading = is_grouped ? verb->get_group() : "Verbs";
    auto found = std::ranges::find(sections, heading, &Section::heading);
    if (found == sections.end()) found = sections.insert(found, {heading, {}});
    found->entries.push_back({verb->get_name(), summary_of(*verb)});
  }
  return sections;
}

}  // namespace

HelpStyle HelpStyle::of_output() {
  HelpStyle style{.width = usual_width};
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (const char* columns = variable("COLUMNS");
      columns != nullptr && parse_number<int>(columns).value_or(0) > 0)
    style.width = *parse_number<int>(columns);
  else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::min<int>(size.ws_col, widest_terminal);
  style.width = std::max(style.width, narrowest);
  const char* const kind = variable("TERM");
  style.colour =
      terminal && variable("NO_COLOR") == nullptr && kind != nullptr && std::string_view(kind) != "dumb";
  return style;
}

std::string placeholder_of(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  if (option.get_positional()) {
    const std::string name = upper(option.get_name(true));
    return option.get_expected_max() > 1 ? name + "..." : name;
  }
  return option.get_items_expected_max() == 0 ? "" : "N";
}

std::string shown_name(const CLI::Option& option) {
  const std::string placeholder = placeholder_of(option);
  if (option.get_positional()) return placeholder;
  std::string name = option.get_snames().empty() ? "    " : "-" + option.get_snames().front();
  if (!option.get_lnames().empty())
    name += (option.get_snames().empty() ? "--" : ", --") + option.get_lnames().front();
  return placeholder.empty() ? name : name + " " + placeholder;
}

std::vector<CLI::Option*> shown_options(CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<CLI::Option*> positionals_of(CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->get_positional() && !option->get_group().empty(); });
}

std::vector<CLI::App*> shown_verbs(CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* verb) { return !verb->get_name().empty() && !verb->get_group().empty(); });
}

std::string summary_of(const CLI::App& app) {
  const std::string text = app.get_description();
  return text.substr(0, text.find('\n'));
}

std::string usage_of(CLI::App& app, std::string_view words) {
  std::string usage(words);
  const std::vector<CLI::App*> verbs = shown_verbs(app);
  const std::vector<CLI::Option*> options = shown_options(app);
  if (!verbs.empty() && app.get_require_subcommand_min() > 0) return usage + " VERB [OPTIONS]";
  usage += " [OPTIONS]";
  for (const CLI::Option* positional : positionals_of(app)) {
    const std::string name = placeholder_of(*positional);
    usage +=
        positional->get_required() || !positional->get_option_text().empty() ? " " + name : " [" + name + "]";
  }
  for (const CLI::Option* option : options)
    if (option->get_required())
      usage += fmt::format(" {} {}",
                           option->get_snames().empty() ? "--" + option->get_lnames().front()
                                                        : "-" + option->get_snames().front(),
                           placeholder_of(*option));
  return usage;
}

std::string help_text(CLI::App& app, std::string_view words, const HelpStyle& style) {
  Page page(style);
  page.paragraphs(app.get_description());
  page.usage(usage_of(app, words));
  std::vector<Section> sections = verb_sections(app);
  if (const auto positionals = positionals_of(app); !positionals.empty()) {
    Section arguments{"Arguments", {}};
    for (CLI::Option* option : positionals)
      arguments.entries.push_back({shown_name(*option), text_of(*option)});
    sections.push_back(std::move(arguments));
  }
  for (Section& section : option_sections(app))
    sections.push_back(std::move(section));
  int name_width = 0;
  for (const Section& section : sections)
    for (const Entry& entry : section.entries)
      if (const int size = static_cast<int>(entry.name.size()); size <= widest_name)
        name_width = std::max(name_width, size);
  for (const Section& section : sections)
    page.section(section, name_width);
  if (const std::string examples = app.get_footer(); !examples.empty()) page.examples(examples);
  return page.text_;
}

}  // namespace millrace
