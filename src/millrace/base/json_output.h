// JsonOutput: --json of a verb that prints a text, which writes the same as JSON instead.
//
//   add_json_output(*verb, options->json);
//   if (options.json.wanted()) return options.json.write(to_json(report));
#pragma once

#include "millrace/base/check_outputs.h"
#include "millrace/base/json_file.h"
#include "millrace/base/overwrite.h"

#include <string>

#include <CLI/CLI.hpp>

namespace millrace {

// As everywhere --json FILE writes to a file, and - is standard output. Here the file may be left out, and
// standard output is meant.
struct JsonOutput {
  std::string file;  // "": the text is wanted
  bool force = false;

  [[nodiscard]] bool wanted() const { return !file.empty(); }
  // Whether it can be written; before what takes long.
  [[nodiscard]] Status check() const {
    return wanted() ? check_outputs({{"--json", file}}, overwrite_if(force)) : Status();
  }
  template <class Json> [[nodiscard]] Status write(const Json& json) const {
    return write_json(json, file, overwrite_if(force));
  }
};

// With -y, unless the verb has it already.
inline void add_json_output(CLI::App& verb, JsonOutput& json) {
  verb.add_option("--json", json.file, "as JSON to a file, or to standard output if none is named")
      ->expected(0, 1)
      ->default_str("-")
      ->type_name("[FILE]");
  if (verb.get_option_no_throw("--force") == nullptr)
    verb.add_flag(overwrite_flag, json.force, overwrite_help);
}

}  // namespace millrace
