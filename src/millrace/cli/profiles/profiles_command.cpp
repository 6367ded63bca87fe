#include "millrace/cli/profiles/profiles_command.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/tuning/profile/profile_exchange.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

Result<tuning::ProfileStore> open_store() {
  const auto path = tuning::default_profile_path();
  if (!path) return std::unexpected(path.error());
  // Wait for a busy store: the user asks for the profiles themselves.
  constexpr int patience_ms = 3000;
  tuning::ProfileStore store = tuning::ProfileStore::open(*path, {.patience_ms = patience_ms});
  if (const Status whole = store.ensure_whole(); !whole) return std::unexpected(whole.error());
  if (!store.usable()) return failure("{}", store.trouble());
  if (!store.trouble().empty()) print_error("millrace", store.trouble());
  return store;
}

std::string key_text(const tuning::ProfileKey& key) {
  std::string text;
  for (const auto& [name, value] : key)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, value);
  return printable(text);
}

Status list() {
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  const auto profiles = store->list();
  if (!profiles) return std::unexpected(profiles.error());
  for (const tuning::StoredProfile& stored : *profiles) {
    print_out("{:>4}  {}  {}\n", stored.id, printable(stored.saved_at), key_text(stored.key));
    print_out("      {}\n",
              printable(stored.profile ? stored.profile->plan : stored.profile.error().message));
  }
  if (profiles->empty()) print_out("no profiles yet\n");
  return {};
}

Status show(std::int64_t id) {
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  const auto profiles = store->list();
  if (!profiles) return std::unexpected(profiles.error());
  for (const tuning::StoredProfile& stored : *profiles) {
    if (stored.id != id) continue;
    for (const auto& [name, value] : stored.key)
      print_out("{:<12} {}\n", printable(name), printable(value));
    print_out("{:<12} {}\n", "saved", printable(stored.saved_at));
    if (!stored.profile) return std::unexpected(stored.profile.error());
    print_out("{:<12} {}\n\ncost relative to it:\n", "plan", printable(stored.profile->plan));
    for (const auto& [candidate, ratio] : stored.profile->costs)
      print_out("{:>8.3f}x  {}\n", ratio, printable(candidate));
    return {};
  }
  return usage_error("there is no profile {}; 'millrace profiles list' shows all", id);
}

Status clear(std::optional<std::int64_t> id) {
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  const auto gone = store->clear(id);
  if (!gone) return std::unexpected(gone.error());
  if (id && *gone == 0) return usage_error("there is no profile {}; 'millrace profiles list' shows all", *id);
  print_out("{} profile{} cleared\n", *gone, *gone == 1 ? "" : "s");
  return {};
}

Status export_to(const std::string& file, bool overwrite) {
  if (const auto path = tuning::default_profile_path(); path && is_same_file(file, path->string()))
    return usage_error("{}: is the file of the profiles themselves; give another file", file);
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  const auto profiles = store->list();
  if (!profiles) return std::unexpected(profiles.error());
  std::vector<tuning::KeyedProfile> travelling;
  std::size_t staying = 0;
  for (const tuning::StoredProfile& stored : *profiles) {
    if (stored.profile && tuning::may_travel(stored.key))
      travelling.push_back({stored.key, *stored.profile});
    else
      ++staying;
  }
  if (Status written =
          write_whole(file, tuning::export_profiles(travelling), {.overwrite = overwrite_if(overwrite)});
      !written)
    return written;
  print_note(
      "{} profile{} in {}{}\n", travelling.size(), travelling.size() == 1 ? "" : "s", file,
      staying == 0
          ? ""
          : fmt::format("; left out {} of millrace exec, which are valid for this machine only", staying));
  return {};
}

Status import_from(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto text = read_text(file, most_bytes, {.missing = "write it with 'millrace profiles export'"});
  if (!text) return std::unexpected(text.error());
  const auto profiles = tuning::parse_profiles(*text, file);
  if (!profiles) return std::unexpected(profiles.error());
  auto store = open_store();
  if (!store) return std::unexpected(store.error());
  const auto imported = tuning::import_profiles(*profiles, *store);
  if (!imported) return std::unexpected(imported.error());
  print_out("{} profile{} imported, {} known already{}\n", imported->taken, imported->taken == 1 ? "" : "s",
            imported->known,
            imported->left_out == 0
                ? ""
                : fmt::format(", {} left out because the store is full", imported->left_out));
  return {};
}

}  // namespace

void add_profiles_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("profiles", "List, copy or delete what earlier runs learnt on this machine");
  verb->group(verb_group::machine);
  verb->require_subcommand(1);
  verb->footer("# List all profiles\nmillrace profiles list");
  CLI::App* all = verb->add_subcommand("list", "List the profiles, the latest first");
  all->footer("# List all profiles\nmillrace profiles list");
  all->callback([&action] { action = list; });
  auto id = std::make_shared<std::int64_t>(0);
  CLI::App* one = verb->add_subcommand("show", "Show one profile");
  one->add_option("id", *id, "Number of the profile in the list")->required();
  one->footer("# Show the profile 3\nmillrace profiles show 3");
  one->callback([&action, id] { action = [id] { return show(*id); }; });
  auto which = std::make_shared<std::optional<std::int64_t>>();
  CLI::App* some = verb->add_subcommand("clear", "Delete one profile, or all");
  some->add_option("id", *which, "Number of the profile in the list")->default_str("all");
  some->footer("# Delete the profile 3\nmillrace profiles clear 3");
  some->callback([&action, which] { action = [which] { return clear(*which); }; });
  auto file = std::make_shared<std::string>();
  auto overwrite = std::make_shared<bool>(false);
  CLI::App* out = verb->add_subcommand("export", "Write the profiles to a file for other machines");
  out->add_option("file", *file, "File to write, or - for standard output")->required();
  add_overwrite_flag(*out, *overwrite);
  out->footer("# Write all profiles\nmillrace profiles export profiles.json");
  out->callback(
      [&action, file, overwrite] { action = [file, overwrite] { return export_to(*file, *overwrite); }; });
  auto from = std::make_shared<std::string>();
  CLI::App* in = verb->add_subcommand("import", "Read the profiles of another machine as first guesses");
  in->add_option("file", *from, "File that `millrace profiles export` wrote, or - for standard input")
      ->required();
  in->footer("# Read profiles\nmillrace profiles import profiles.json");
  in->callback([&action, from] { action = [from] { return import_from(*from); }; });
}

}  // namespace millrace::cli
