#include "millrace/cli/machine/machine_command.h"

#include "millrace/base/file/private_folder.h"
#include "millrace/base/options/json_output.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/machine/probe_command.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/machine/units/unit_families.h"

#include <fmt/format.h>

namespace millrace::cli {
namespace {

struct MachineOptions {
  JsonOutput json;
  bool families = false;
  bool probe = false;
  ProbeOptions probing;
};

// Under sudo and su the folder may belong to another user.
void note_refused_folder() {
  const std::filesystem::path folder = machine::unit_folder();
  if (folder.empty()) return;
  if (const auto own = open_private_folder(folder, FolderUse::read); !own)
    print_error(
        "millrace machine",
        fmt::format("ignored the processor families in '{}': {}; set XDG_CONFIG_HOME to a folder of your own",
                    folder.string(), own.error().message));
}

Status show_families(const JsonOutput& json) {
  const auto families = machine::UnitFamilies::of_this_user();
  if (!families) return std::unexpected(families.error());
  note_refused_folder();
  if (json.wanted()) {
    auto all = nlohmann::json::array();
    for (const machine::UnitTraits& traits : families->all())
      all.push_back(machine::to_json(traits));
    return json.write(all);
  }
  for (const machine::UnitTraits& traits : families->all())
    print_out("{:<14} {} ({})\n", traits.family, traits.title, traits.from);
  return {};
}

Status show_machine(const JsonOutput& json) {
  const auto report = machine::inspect_machine();
  if (!report) return std::unexpected(report.error());
  note_refused_folder();
  // Names of control groups may contain any bytes.
  if (json.wanted()) return json.write(machine::to_json(*report));
  print_out("{}", machine::to_text(*report));
  return {};
}

}  // namespace

void add_machine_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("machine", "Show the CPUs, caches and limits of this machine");
  verb->group(verb_group::machine);
  auto options = std::make_shared<MachineOptions>();
  add_json_output(*verb, options->json);
  auto* const families =
      verb->add_flag("--families", options->families,
                     "List the processor families with known execution units, with your own from "
                     "$XDG_CONFIG_HOME/millrace/units/*.toml");
  auto* const probe = verb->add_flag("--probe", options->probe,
                                     "Measure which execution units CPUs share; takes 0.1 s for each pair");
  probe->excludes(families);
  begin_group(*verb, "Probe");
  verb->add_option("--cpus", options->probing.cpus, "Probe pairs of these CPUs only, such as 0-3,8")
      ->option_text("LIST")
      ->needs(probe);
  verb->add_flag("--watch", options->probing.watch, "Probe repeatedly until Ctrl-C")->needs(probe);
  verb->add_option("--every", options->probing.every_s, "Seconds from one probe to the next")
      ->default_str("1")
      ->needs(probe);
  verb->add_option("--times", options->probing.times, "Number of probes")->default_str("1")->needs(probe);
  verb->footer("# Show this machine\nmillrace machine\n# Measure which units the first two CPUs share\n"
               "millrace machine --probe --cpus 0,1");
  verb->callback([&action, options] {
    action = [options]() -> Status {
      if (options->families) return show_families(options->json);
      if (!options->probe) return show_machine(options->json);
      options->probing.json = options->json;
      return probe_machine(options->probing);
    };
  });
}

}  // namespace millrace::cli
