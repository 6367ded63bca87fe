#include "millrace/model/contention/placement_toml.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/toml_document.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/model/contention/topology_machine.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace millrace::model {
namespace {

constexpr std::int64_t most_pus = 1024;
constexpr std::int64_t most_threads = 4096;

class PlacementReader {
 public:
  PlacementReader(std::string_view file, const machine::UnitFamilies& families)
      : file_(file), families_(families) {}

  Result<PlacementCase> read(const toml::table& root) {
    for (const auto& [key, value] : root)
      if (key != "machine" && key != "level" && key != "thread")
        return error(value, fmt::format("unknown key {}; a file has [machine], [[level]] and [[thread]]",
                                        in_quotes(key.str())));
    Status done = machine(root);
    if (root.contains("level")) case_.machine.levels.clear();
    if (done) done = each(root, "level", [this](const toml::table& table) { return level(table); });
    if (done) done = each(root, "thread", [this](const toml::table& table) { return thread(table); });
    if (!done) return std::unexpected(done.error());
    if (const Status possible = check(case_.machine); !possible)
      return usage_error("{}: {}", file_, possible.error().message);
    if (const Status possible = check(case_.threads); !possible)
      return usage_error("{}: {}", file_, possible.error().message);
    for (const ContendingThread& thread : case_.threads)
      if (!thread.pages.empty() &&
          thread.pages.size() != std::max<std::size_t>(1, case_.machine.nodes.size()))
        return usage_error("{}: thread {} has pages on {} nodes, but the machine has {}", file_,
                           in_quotes(thread.name), thread.pages.size(),
                           std::max<std::size_t>(1, case_.machine.nodes.size()));
    return std::move(case_);
  }

 private:
  Status machine(const toml::table& root) {
    const toml::table* const table = root["machine"].as_table();
    if (table == nullptr)
      return usage_error("{}: no [machine] in the file; write it, and pus = 8 below", file_);
    std::int64_t pus = 0;
    machine::SyntheticMachine described{.description = {}, .family = {}};
    for (const auto& [key, value] : *table) {
      Status read;
      if (key == "pus")
        read = whole(key, value, 1, most_pus, pus);
      else if (key == "family")
        read = text(key, value, described.family);
      else if (key == "synthetic")
        read = text(key, value, described.description);
      else
        read = error(value, fmt::format("unknown key {}; a machine has pus, or family and synthetic",
                                        in_quotes(key.str())));
      if (!read) return read;
    }
    if (described.family.empty() && described.description.empty()) {
      if (pus == 0)
        return error(*table, "the machine has no pus; write pus = 8, or family = \"power7\", for example");
      case_.machine.pus = static_cast<int>(pus);
      return {};
    }
    if (pus != 0) return error(*table, "a machine has either pus, or family and synthetic");
    return described_machine(*table, std::move(described));
  }

  Status described_machine(const toml::table& table, machine::SyntheticMachine described) {
    if (described.family.empty()) described.family = "generic";
    const machine::UnitTraits* const traits = families_.find(described.family);
    if (traits == nullptr)
      return error(table, fmt::format("no processor family {}; `millrace machine --families` lists them",
                                      in_quotes(described.family)));
    if (described.description.empty()) described.description = traits->typical;
    if (described.description.empty())
      return error(table, fmt::format("family {} names no typical machine; write synthetic = \"pack:1 ...\"",
                                      in_quotes(described.family)));
    const auto topology = machine::Topology::from_synthetic(described, families_);
    if (!topology) return error(table, topology.error().message);
    if (topology->cpus().count() > most_pus)
      return error(table, fmt::format("a machine of {} PUs; {} at most", topology->cpus().count(), most_pus));
    case_.machine = machine_of(*topology, topology->cpus()).machine;
    return {};
  }

  template <class Read> Status each(const toml::table& root, std::string_view what, const Read& read) {
    if (!root.contains(what)) return {};
    const toml::array* const tables = root[what].as_array();
    if (tables == nullptr)
      return error(*root.get(what), fmt::format("{} must be tables; write [[{}]] before each", what, what));
    for (const toml::node& node : *tables) {
      const toml::table* const table = node.as_table();
      if (table == nullptr)
        return error(node, fmt::format("a {} must be a table; write [[{}]] before it", what, what));
      if (const Status done = read(*table); !done) return done;
    }
    return {};
  }

  Status level(const toml::table& table) {
    SharingLevel level;
    for (const auto& [key, value] : table) {
      Status read;
      if (key == "name")
        read = text(key, value, level.name);
      else if (key == "each")
        read = neighbours(key, value, level);
      else if (key == "groups")
        read = groups(value, level);
      else if (key == "slowdown")
        read = slowdowns(value, level.contention);
      else if (key == "grows")
        read = growth(value, level.growth);
      else
        read = error(value, fmt::format("unknown key {}; a level has name, each or groups, slowdown, grows",
                                        in_quotes(key.str())));
      if (!read) return read;
    }
    if (level.name.empty())
      return error(table, R"(this level has no name; write name = "core", for example)");
    if (table.contains("each") == table.contains("groups"))
      return error(table,
                   fmt::format("level {} needs either each = 2, of neighbouring PUs, or groups = [\"0-1\", "
                               "\"2-3\"]",
                               in_quotes(level.name)));
    case_.machine.levels.push_back(std::move(level));
    return {};
  }

  Status neighbours(const toml::key& key, const toml::node& value, SharingLevel& into) const {
    std::int64_t each = 0;
    if (const Status read = whole(key, value, 1, most_pus, each); !read) return read;
    into.groups = groups_of_neighbours(case_.machine.pus, static_cast<int>(each));
    return {};
  }

  Status groups(const toml::node& value, SharingLevel& into) const {
    const toml::array* const lists = value.as_array();
    if (lists == nullptr) return error(value, R"(groups must be lists of PUs: ["0-1", "2,3"])");
    for (const toml::node& node : *lists) {
      const auto list = node.value_exact<std::string>();
      const auto set = machine::CpuSet::parse(list.value_or("?"));
      if (!set || set->empty())
        return error(node, R"(a group must be a list of PUs in quotes: "0-1", "2,3")");
      into.groups.emplace_back(set->begin(), set->end());
    }
    return {};
  }

  Status slowdowns(const toml::node& value, ContentionMatrix& into) const {
    const auto row = [&](SharedUnit unit, const toml::node& node) {
      return units(node, "slowdown", [&](SharedUnit beside, const toml::node& entry) -> Status {
        const auto ratio = number(entry);
        if (!ratio) return error(entry, "a slowdown must be a number");
        const Status set = into.set(unit, beside, *ratio);
        return set ? set : error(entry, set.error().message);
      });
    };
    return units(value, "slowdown", row);
  }

  Status growth(const toml::node& value, Growth& into) const {
    const auto name = value.value_exact<std::string>().value_or("");
    if (name != "time" && name != "speed") return error(value, R"(grows must be "time" or "speed")");
    into = name == "time" ? Growth::time : Growth::speed;
    return {};
  }

  Status pages(const toml::node& value, std::vector<double>& into) const {
    const toml::array* const list = value.as_array();
    if (list == nullptr || list->empty())
      return error(value, "pages must be a list of shares by node: [1, 0]");
    for (const toml::node& node : *list) {
      const auto share = number(node);
      if (!share) return error(node, "a share of pages must be a number");
      into.push_back(*share);
    }
    return {};
  }

  Status data(const toml::key& key, const toml::node& value, ContendingThread& into) {
    std::string name;
    if (Status read = text(key, value, name); !read) return read;
    const auto known = std::ranges::find(data_, name);
    into.data = static_cast<int>(known - data_.begin());
    if (known == data_.end()) data_.push_back(std::move(name));
    return {};
  }

  Status demand(const toml::node& value, Demand& into) const {
    return units(value, "demand", [&](SharedUnit unit, const toml::node& entry) -> Status {
      const auto share = number(entry);
      if (!share) return error(entry, "a demand must be a number");
      into[unit] = *share;
      return {};
    });
  }

  // Calls `read` with each unit of a table {fp = ..., l2 = ...}.
  template <class Read> Status units(const toml::node& value, std::string_view what, const Read& read) const {
    const toml::table* const table = value.as_table();
    if (table == nullptr)
      return error(value, fmt::format("{} must be a table such as {{fp = ..., l2 = ...}}", what));
    for (const auto& [key, entry] : *table) {
      const auto unit = shared_unit_of(key.str());
      if (!unit)
        return error(entry, fmt::format("unknown unit {}; there are int, fp, simd, l1, l2, llc and dram",
                                        in_quotes(key.str())));
      if (const Status done = read(*unit, entry); !done) return done;
    }
    return {};
  }

  Status thread(const toml::table& table) {
    ContendingThread thread;
    std::int64_t count = 1;
    std::optional<double> overlap;
    for (const auto& [key, value] : table) {
      Status read;
      if (key == "name")
        read = text(key, value, thread.name);
      else if (key == "count")
        read = whole(key, value, 1, most_threads, count);
      else if (key == "busy") {
        const auto busy = number(value);
        read = busy ? Status() : error(value, "busy must be a number");
        thread.busy = busy.value_or(1);
      } else if (key == "demand")
        read = demand(value, thread.demand);
      else if (key == "pages")
        read = pages(value, thread.pages);
      else if (key == "data")
        read = data(key, value, thread);
      else if (key == "overlap") {
        overlap = number(value);
        read = overlap ? Status() : error(value, "overlap must be a number");
      } else
        read = error(
            value, fmt::format("unknown key {}; a thread has name, count, busy, demand, pages, data, overlap",
                               in_quotes(key.str())));
      if (!read) return read;
    }
    if (thread.name.empty())
      return error(table, R"(this thread has no name; write name = "render", for example)");
    if (overlap && thread.data < 0)
      return error(table, fmt::format("thread {} has an overlap, but no data", in_quotes(thread.name)));
    if (thread.data >= 0) thread.overlap = overlap.value_or(1);
    if (static_cast<std::int64_t>(case_.threads.size()) + count > most_threads)
      return error(table, fmt::format("more than {} threads in all", most_threads));
    case_.threads.insert(case_.threads.end(), static_cast<std::size_t>(count), thread);
    return {};
  }

  Status text(const toml::key& key, const toml::node& value, std::string& into) const {
    const auto read = value.value_exact<std::string>();
    if (!read || read->empty())
      return error(value, fmt::format("{} must be text in quotes, and not empty", key.str()));
    into = *read;
    return {};
  }

  Status whole(const toml::key& key, const toml::node& value, std::int64_t least, std::int64_t most,
               std::int64_t& into) const {
    const auto read = value.value_exact<std::int64_t>();
    if (!read || *read < least || *read > most)
      return error(value, fmt::format("{} must be a whole number from {} to {}", key.str(), least, most));
    into = *read;
    return {};
  }

  static std::optional<double> number(const toml::node& value) {
    const auto read = value.is_number() ? value.value<double>() : std::nullopt;
    return read && std::isfinite(*read) ? read : std::nullopt;
  }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, node.source().begin.line, message);
  }

  std::string_view file_;
  const machine::UnitFamilies& families_;
  std::vector<std::string> data_;
  PlacementCase case_;
};

}  // namespace

Result<PlacementCase> parse_placement_toml(std::string_view text, std::string_view file_name,
                                           const machine::UnitFamilies& families) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return PlacementReader(file_name, families).read(*document);
}

}  // namespace millrace::model
