#include "millrace/cli/filters/filters_command.h"

#include "millrace/base/print.h"
#include "millrace/image/pipeline/filter_catalogue.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

void add_filters_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("filters", "List the filters with their parameters, and the presets");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "as JSON");
  verb->callback([&action, json] {
    action = [json]() -> Status {
      if (*json)
        print_out("{}\n", image::catalogue_json().dump(2));
      else
        print_out("{}", image::catalogue_text());
      return {};
    };
  });
}

}  // namespace millrace::cli
