#include "millrace/cli/filters/filters_command.h"

#include "millrace/base/options/json_output.h"
#include "millrace/base/text/print.h"
#include "millrace/image/pipeline/filter_catalogue.h"

#include <nlohmann/json.hpp>

namespace millrace::cli {

void add_filters_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("filters", "List the filters with their parameters, and the presets");
  verb->group(verb_group::video);
  verb->footer("# Print the names of all filters\nmillrace filters | grep '^  [a-z]'");
  auto json = std::make_shared<JsonOutput>();
  add_json_output(*verb, *json);
  verb->callback([&action, json] {
    action = [json]() -> Status {
      if (json->wanted()) return json->write(image::catalogue_json());
      print_out("{}", image::catalogue_text());
      return {};
    };
  });
}

}  // namespace millrace::cli
