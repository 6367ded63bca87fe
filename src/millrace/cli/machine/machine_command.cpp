#include "millrace/cli/machine/machine_command.h"

#include "millrace/base/print.h"
#include "millrace/machine/report/machine_report.h"

#include <fmt/format.h>

namespace millrace::cli {

void add_machine_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("machine", "Show what this machine offers and how far that can be trusted");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "as JSON");
  verb->callback([&action, json] {
    action = [json]() -> Status {
      const auto report = machine::inspect_machine();
      if (!report) return std::unexpected(report.error());
      // Names of control groups may hold any bytes.
      if (*json)
        print_out("{}\n",
                  machine::to_json(*report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      else
        print_out("{}", machine::to_text(*report));
      return {};
    };
  });
}

}  // namespace millrace::cli
