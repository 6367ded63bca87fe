// JsonOutput: the --json option of a verb that prints text. With it, the verb writes JSON instead.
//
//   add_json_output(*verb, options->json);
//   if (options.json.wanted()) return options.json.write(to_json(report));
#pragma once

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/file/overwrite.h"
#include "millrace/base/options/option_values.h"

#include <initializer_list>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

namespace millrace {

// As in all programs, --json FILE writes to a file and "-" is standard output. Here FILE is optional and
// defaults to standard output.
struct JsonOutput {
  std::string file;  // "" if text is wanted
  bool force = false;

  [[nodiscard]] bool wanted() const { return !file.empty(); }
  // Checks before a long run that the file can be written and is none of the inputs.
  [[nodiscard]] Status check(std::initializer_list<NamedPath> inputs = {}) const {
    return wanted() ? check_outputs({{"--json", file}}, overwrite_if(force), inputs) : Status();
  }
  // For a verb that cannot do without its own `word`. If that is missing, what follows --json is the word and
  // no FILE, unless it ends in .json. Call this when the options have been read.
  void give_back(std::string& word) {
    if (word.empty() && wanted() && file != "-" && !file.ends_with(".json")) word = std::exchange(file, "-");
  }
  template <class Json> [[nodiscard]] Status write(const Json& json) const {
    return write_json(json, file, overwrite_if(force));
  }
};

// Adds -y too, unless the verb already has it.
inline void add_json_output(CLI::App& verb, JsonOutput& json) {
  verb.add_option("--json", json.file, "Print JSON, to a file if one is named")
      ->expected(0, 1)
      ->default_str("-")
      ->option_text("[FILE]");
  if (verb.get_option_no_throw("--force") == nullptr) add_overwrite_flag(verb, json.force);
}

}  // namespace millrace
