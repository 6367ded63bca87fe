#include "millrace/base/options/completion_script.h"

#include "millrace/base/options/help_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

// What a shell offers for a value.
enum class Kind { nothing, words, stages, files, folders, programs };

struct Offer {
  Kind kind = Kind::nothing;
  OptionWords words;
};

struct OfferedOption {
  OptionWords names;  // "-o", "--output"
  std::string placeholder;
  std::string text;
  bool takes_value = false;
  bool needs_value = false;
  bool repeats = false;
  Offer offer;
};

struct Place {
  std::string placeholder;
  bool repeats = false;  // and so the last one
  Offer offer;
};

struct OfferedVerb {
  std::string path;  // "", "run", "profiles list"
  std::string summary;
  std::vector<std::pair<std::string, std::string>> verbs;  // names and summaries
  std::vector<OfferedOption> options;
  std::vector<Place> places;
};

Offer offer_of(CLI::Option& option) {
  const ShownValues values = values_of(option);
  const std::string placeholder = placeholder_of(option);
  const auto names = [&placeholder](const char* word) { return placeholder.find(word) != std::string::npos; };
  if (values.are_stages) return {Kind::stages, values.words};
  if (!values.words.empty()) return {Kind::words, values.words};
  if (names("PROGRAM")) return {Kind::programs, {}};
  if (names("FOLDER")) return {Kind::folders, {}};
  for (const char* word : {"FILE", "INPUT", "OUTPUT", "SECOND", "PLAN", "RECORD", "IMAGE", "ARCHIVE"})
    if (names(word)) return {Kind::files, {}};
  return {};
}

void add_verbs(CLI::App& app, const std::string& path, std::vector<OfferedVerb>& all) {
  OfferedVerb verb{.path = path, .summary = summary_of(app)};
  for (CLI::Option* option : shown_options(app)) {
    OfferedOption offered{.placeholder = placeholder_of(*option),
                          .text = option->get_description(),
                          .takes_value = option->get_items_expected_max() > 0,
                          .needs_value = option->get_items_expected_min() > 0,
                          .repeats = option->get_expected_max() > 1,
                          .offer = offer_of(*option)};
    for (const std::string& name : option->get_snames())
      offered.names.push_back("-" + name);
    if (!option->get_lnames().empty()) offered.names.push_back("--" + option->get_lnames().front());
    verb.options.push_back(std::move(offered));
  }
  for (CLI::Option* option : positionals_of(app))
    verb.places.push_back({placeholder_of(*option), option->get_expected_max() > 1, offer_of(*option)});
  for (CLI::App* below : shown_verbs(app))
    verb.verbs.emplace_back(below->get_name(), summary_of(*below));
  all.push_back(std::move(verb));
  for (CLI::App* below : shown_verbs(app))
    add_verbs(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), all);
}

std::string identifier(std::string_view text) {
  std::string name(text);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// In single quotes for a shell.
std::string in_shell_quotes(std::string_view text, std::string_view inner_quote = "'\\''") {
  std::string word = "'";
  for (const char c : text)
    if (c == '\'')
      word += inner_quote;
    else
      word += c;
  return word + "'";
}

// "run:--codec", which a case pattern matches. The path may have a blank.
std::string pattern(std::string_view path, std::string_view word) {
  return in_shell_quotes(fmt::format("{}:{}", path, word));
}

// The patterns of all options that need a value, and of all verbs.
OptionWords patterns_with_values(const std::vector<OfferedVerb>& all) {
  OptionWords patterns;
  for (const OfferedVerb& verb : all)
    for (const OfferedOption& option : verb.options)
      if (option.needs_value)
        for (const std::string& name : option.names)
          patterns.push_back(pattern(verb.path, name));
  return patterns;
}

OptionWords patterns_of_verbs(const std::vector<OfferedVerb>& all) {
  OptionWords patterns;
  for (const OfferedVerb& verb : all)
    for (const auto& [name, summary] : verb.verbs)
      patterns.push_back(pattern(verb.path, name));
  return patterns;
}

std::string option_names(const OfferedVerb& verb) {
  OptionWords names;
  for (const OfferedOption& option : verb.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string verb_words(const OfferedVerb& verb) {
  OptionWords names;
  for (const auto& [name, summary] : verb.verbs)
    names.push_back(name);
  return fmt::format("{}", fmt::join(names, " "));
}

// bash: what a case does.
std::string bash_offer(const std::string& function, const Offer& offer) {
  const std::string words = in_shell_quotes(fmt::format("{}", fmt::join(offer.words, " ")));
  switch (offer.kind) {
  case Kind::words:
    return fmt::format("{}_words {}", function, words);
  case Kind::stages:
    return fmt::format("{}_stages {}", function, words);
  case Kind::files:
    return "compopt -o default 2> /dev/null";
  case Kind::folders:
    return "compopt -o dirnames 2> /dev/null";
  case Kind::programs:
    return fmt::format("{}_program", function);
  case Kind::nothing:
    break;
  }
  return ":";
}

constexpr std::string_view bash_start =
    R"(# Completes the command line of @PROGRAM@ in bash. Made by '@PROGRAM@ completion bash'.
@FUNCTION@_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# The last stage of a pipeline: 'blur | sh
@FUNCTION@_stages() {
  local text=${cur#[\"\']} stage
  local last=${text##*[|, \[]}
  local before=${text%"$last"}
  COMPREPLY=()
  for stage in $(compgen -W "$1" -- "$last"); do
    COMPREPLY+=("$before$stage")
  done
  compopt -o nospace 2> /dev/null
  ((${#COMPREPLY[@]})) || compopt +o nospace -o default 2> /dev/null
}

@FUNCTION@_program() {
  if declare -F _command_offset > /dev/null; then
    _command_offset "$first"
  elif ((place == 0)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    compopt -o default 2> /dev/null
  fi
}

@FUNCTION@() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb='' word
  local -i place=0 first=0 i
  COMPREPLY=()
  # --option=value is three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((first)); then
      place+=1
      continue
    fi
    case "$verb:$word" in
      *:--) first=i+1 ;;
      *:=) i+=1 ;;
      @VALUED@) [[ ${COMP_WORDS[i + 1]} == = ]] || i+=1 ;;
      *:-*) ;;
      @VERBS@) verb=${verb:+$verb }$word place=0 ;;
      *) place+=1 ;;
    esac
  done
)";

std::string replaced(std::string text,
                     std::initializer_list<std::pair<std::string_view, std::string>> values) {
  for (const auto& [key, value] : values)
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size()))
      text.replace(at, key.size(), value);
  return text;
}

std::string bash_script(const std::vector<OfferedVerb>& all, const std::string& program) {
  const std::string function = "_" + identifier(program);
  std::string text = replaced(std::string(bash_start),
                              {{"@PROGRAM@", program},
                               {"@FUNCTION@", function},
                               {"@VALUED@", fmt::format("{}", fmt::join(patterns_with_values(all), " | "))},
                               {"@VERBS@", fmt::format("{}", fmt::join(patterns_of_verbs(all), " | "))}});
  text += "  if ((!first)); then\n    case \"$verb:$prev\" in\n";
  for (const OfferedVerb& verb : all)
    for (const OfferedOption& option : verb.options) {
      if (!option.needs_value) continue;
      OptionWords patterns;
      for (const std::string& name : option.names)
        patterns.push_back(pattern(verb.path, name));
      text += fmt::format("      {}) {}; return ;;\n", fmt::join(patterns, " | "),
                          bash_offer(function, option.offer));
    }
  text += "    esac\n    if [[ $cur == -* ]]; then\n      case \"$verb\" in\n";
  for (const OfferedVerb& verb : all)
    text += fmt::format("        {}) {}_words {} ;;\n", in_shell_quotes(verb.path), function,
                        in_shell_quotes(option_names(verb)));
  text += "      esac\n      return\n    fi\n  fi\n  case \"$verb:$place\" in\n";
  for (const OfferedVerb& verb : all) {
    if (!verb.verbs.empty() && verb.places.empty())
      text += fmt::format("    {}) {}_words {} ;;\n", pattern(verb.path, "0"), function,
                          in_shell_quotes(verb_words(verb)));
    for (std::size_t i = 0; i < verb.places.size(); ++i) {
      const Place& place = verb.places[i];
      Offer offer = place.offer;
      if (i == 0)
        for (const auto& [name, summary] : verb.verbs)
          offer.words.push_back(name);
      const std::string which =
          place.repeats ? in_shell_quotes(verb.path + ":") + "*" : pattern(verb.path, fmt::format("{}", i));
      text += fmt::format("    {}) {} ;;\n", which, bash_offer(function, offer));
    }
  }
  return text + fmt::format("  esac\n}}\n\ncomplete -F {} {}\n", function, program);
}

// zsh: text in a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_offer(const std::string& function, const Offer& offer) {
  switch (offer.kind) {
  case Kind::words:
    return fmt::format("({})", fmt::join(offer.words, " "));
  case Kind::stages:
    return fmt::format("{}_stages {}", function, fmt::join(offer.words, " "));
  case Kind::files:
    return "_files";
  case Kind::folders:
    return "_files -/";
  case Kind::programs:
    return "_normal";
  case Kind::nothing:
    break;
  }
  return " ";
}

std::string zsh_function(const std::string& function, const OfferedVerb& verb) {
  return verb.path.empty() ? function : function + "_" + identifier(verb.path);
}

std::string zsh_arguments(const std::string& function, const OfferedVerb& verb) {
  std::string text;
  for (const OfferedOption& option : verb.options) {
    const std::string explained = fmt::format("[{}]", zsh_text(option.text));
    std::string value;
    if (option.takes_value)
      value = fmt::format("{}:{}:{}", option.needs_value ? "" : ":", zsh_text(option.placeholder),
                          zsh_offer(function, option.offer));
    const std::string star = option.repeats ? "*" : "";
    for (const std::string& name : option.names) {
      const std::string others = option.names.size() > 1 && star.empty()
                                     ? fmt::format("({})", fmt::join(option.names, " "))
                                     : std::string();
      text += " \\\n    " + in_shell_quotes(others + star + name + explained + value);
    }
  }
  return text;
}

constexpr std::string_view zsh_start = R"(#compdef @PROGRAM@
# Completes the command line of @PROGRAM@ in zsh. Made by '@PROGRAM@ completion zsh'.

# The last stage of a pipeline: 'blur | sh
@FUNCTION@_stages() {
  compset -P '*[|, \[]'
  compadd -S '' -- "$@" || _files
}
)";

std::string zsh_script(const std::vector<OfferedVerb>& all, const std::string& program) {
  const std::string function = "_" + identifier(program);
  std::string text = replaced(std::string(zsh_start), {{"@PROGRAM@", program}, {"@FUNCTION@", function}});
  for (const OfferedVerb& verb : all) {
    text += fmt::format("\n{}() {{\n", zsh_function(function, verb));
    if (verb.verbs.empty()) {
      text += "  _arguments -s" + zsh_arguments(function, verb);
      for (std::size_t i = 0; i < verb.places.size(); ++i) {
        const Place& place = verb.places[i];
        const std::string number = place.repeats ? "*" : fmt::format("{}", i + 1);
        const bool program_last = place.offer.kind == Kind::programs;
        text += " \\\n    " +
                in_shell_quotes(fmt::format("{}{}{}:{}", number, program_last ? "::" : ":",
                                            zsh_text(place.placeholder), zsh_offer(function, place.offer)));
      }
      text += "\n}\n";
      continue;
    }
    text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C -s";
    text += zsh_arguments(function, verb) + " \\\n    '1: :->verb' '*:: :->rest'\n";
    text += "  case $state in\n    verb)\n      local -a verbs=(\n";
    for (const auto& [name, summary] : verb.verbs)
      text += "        " + in_shell_quotes(zsh_text(name) + ":" + summary) + "\n";
    text += "      )\n      _describe -t verbs verb verbs ;;\n    rest)\n      case $line[1] in\n";
    for (const auto& [name, summary] : verb.verbs)
      text += fmt::format("        {}) {}_{} ;;\n", name, zsh_function(function, verb), identifier(name));
    text += "      esac ;;\n  esac\n}\n";
  }
  return text + fmt::format("\n{} \"$@\"\n", function);
}

// fish: in single quotes, in which a backslash escapes.
std::string fish_quoted(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') escaped += '\\';
    escaped += c;
  }
  return in_shell_quotes(escaped, "\\'");
}

std::string fish_offer(const std::string& function, const Offer& offer) {
  const std::string words = fmt::format("{}", fmt::join(offer.words, " "));
  switch (offer.kind) {
  case Kind::words:
    return "-f -a " + fish_quoted(words);
  case Kind::stages:
    return "-F -a " + fish_quoted(fmt::format("({}_stages {})", function, words));
  case Kind::files:
    return "-F";
  case Kind::folders:
    return "-f -a '(__fish_complete_directories (commandline -ct))'";
  case Kind::programs:
    return "-f -a '(__fish_complete_subcommand --fcs-skip=3)'";
  case Kind::nothing:
    break;
  }
  return "-f";
}

constexpr std::string_view fish_start =
    R"(# Completes the command line of @PROGRAM@ in fish. Made by '@PROGRAM@ completion fish'.

# Prints VERB:PLACE for the current token.
function @FUNCTION@_place
    set -l verb ''
    set -l place 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$verb:$word"
            case @VALUED@
                set skip 1
            case '*:-*'
            case @VERBS@
                set verb (string trim -- "$verb $word")
                set place 0
            case '*'
                set place (math $place + 1)
        end
    end
    echo "$verb:$place"
end

function @FUNCTION@_is
    string match -q -- "$argv[1]" (@FUNCTION@_place)
end

# The last stage of a pipeline: 'blur | sh
function @FUNCTION@_stages
    set -l text (commandline -ct | string replace -r '^["\']' '')
    set -l before (string replace -r '[^|, \[]*$' '' -- "$text")
    printf '%s\n' $before$argv
end

complete -c @PROGRAM@ -f
)";

std::string fish_script(const std::vector<OfferedVerb>& all, const std::string& program) {
  const std::string function = "__" + identifier(program);
  std::string text = replaced(std::string(fish_start),
                              {{"@PROGRAM@", program},
                               {"@FUNCTION@", function},
                               {"@VALUED@", fmt::format("{}", fmt::join(patterns_with_values(all), " "))},
                               {"@VERBS@", fmt::format("{}", fmt::join(patterns_of_verbs(all), " "))}});
  const auto line = [&](const std::string& where, const std::string& rest) {
    text += fmt::format("complete -c {} -n {} {}\n", program,
                        fish_quoted(fmt::format("{}_is '{}'", function, where)), rest);
  };
  for (const OfferedVerb& verb : all) {
    for (const auto& [name, summary] : verb.verbs)
      line(verb.path + ":0", fmt::format("-a {} -d {}", name, fish_quoted(summary)));
    for (const OfferedOption& option : verb.options) {
      std::string rest;
      for (const std::string& name : option.names)
        rest += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.needs_value) rest += " -r " + fish_offer(function, option.offer);
      line(verb.path + ":*", fmt::format("{} -d {}", rest.substr(1), fish_quoted(option.text)));
    }
    for (std::size_t i = 0; i < verb.places.size(); ++i) {
      const Place& place = verb.places[i];
      line(fmt::format("{}:{}", verb.path, place.repeats ? "*" : fmt::format("{}", i)),
           fish_offer(function, place.offer));
    }
  }
  return text;
}

}  // namespace

const OptionWords& completion_shells() {
  static const OptionWords shells{"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(CLI::App& app, std::string_view program, std::string_view shell) {
  std::vector<OfferedVerb> all;
  add_verbs(app, "", all);
  const std::string name(program);
  if (shell == "zsh") return zsh_script(all, name);
  if (shell == "fish") return fish_script(all, name);
  return bash_script(all, name);
}

}  // namespace millrace
