#include "millrace/model/cluster/cluster_toml.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/toml_document.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::model {
namespace {

class ClusterReader {
 public:
  explicit ClusterReader(std::string_view file) : file_(file) {}

  Result<ClusterCase> read(const toml::table& root) {
    for (const auto& [key, value] : root)
      if (key != "job" && key != "machine")
        return error(value,
                     fmt::format("unknown key {}; a file has [job] and [[machine]]", in_quotes(key.str())));
    const toml::table* const job = root["job"].as_table();
    if (job == nullptr)
      return usage_error("{}: no [job] in the file; write it, and chunks = 720 below", file_);
    if (Status read = read_job(*job); !read) return std::unexpected(read.error());
    if (root.contains("machine")) {
      const toml::array* const machines = root["machine"].as_array();
      if (machines == nullptr)
        return error(*root.get("machine"), "write [[machine]] before each kind of machine");
      for (const toml::node& node : *machines) {
        if (!node.is_table()) return error(node, "write [[machine]] before each kind of machine");
        if (Status read = read_machine(*node.as_table()); !read) return std::unexpected(read.error());
      }
    }
    if (const Status possible = check(case_); !possible)
      return usage_error("{}: {}", file_, possible.error().message);
    return std::move(case_);
  }

 private:
  using Read = std::function<Status(const toml::node&)>;
  using Reads = std::initializer_list<std::pair<std::string_view, Read>>;

  // Reads each key with the reader of its name.
  Status each_key(const toml::table& table, std::string_view what, const Reads& reads) const {
    for (const auto& [key, value] : table) {
      const auto* const found =
          std::ranges::find(reads, key.str(), [](const auto& each) { return each.first; });
      if (found == reads.end()) {
        std::vector<std::string_view> names;
        for (const auto& each : reads)
          names.push_back(each.first);
        return error(value, fmt::format("unknown key {}; a {} has {}", in_quotes(key.str()), what,
                                        fmt::join(names, ", ")));
      }
      if (Status read = found->second(value); !read) return read;
    }
    return {};
  }

  // 0 to 1e15.
  [[nodiscard]] Read number(std::string_view name, double& into) const {
    return [this, name, &into](const toml::node& value) -> Status {
      const auto read = value.is_number() ? value.value<double>() : std::nullopt;
      if (!read || !(*read >= 0 && *read <= 1e15))
        return error(value, fmt::format("{} must be a number from 0 on", name));
      into = *read;
      return {};
    };
  }

  [[nodiscard]] Read whole(std::string_view name, int most, int& into) const {
    return [this, name, most, &into](const toml::node& value) -> Status {
      const auto read = value.value_exact<std::int64_t>();
      if (!read || *read < 1 || *read > most)
        return error(value, fmt::format("{} must be a whole number from 1 to {}", name, most));
      into = static_cast<int>(*read);
      return {};
    };
  }

  [[nodiscard]] Read flag(std::string_view name, bool& into) const {
    return [this, name, &into](const toml::node& value) -> Status {
      const auto read = value.value_exact<bool>();
      if (!read) return error(value, fmt::format("{} must be true or false", name));
      into = *read;
      return {};
    };
  }

  Status read_job(const toml::table& table) {
    ClusterJob& job = case_.job;
    const Read sizes = [this](const toml::node& value) -> Status {
      const toml::array* const list = value.as_array();
      if (list == nullptr || list->empty()) return error(value, "sizes must be a list such as [1, 2, 4]");
      for (const toml::node& node : *list)
        if (Status read = whole("a size", most_machines, case_.sizes.emplace_back())(node); !read)
          return read;
      return {};
    };
    return each_key(table, "job",
                    {{"chunks", whole("chunks", most_chunks, job.chunks)},
                     {"work", number("work", job.work)},
                     {"variation", number("variation", job.variation)},
                     {"bytes", number("bytes", job.bytes)},
                     {"storage", number("storage", job.storage)},
                     {"learning", number("learning", job.learning)},
                     {"shared_plans", flag("shared_plans", job.shared_plans)},
                     {"before", number("before", job.before)},
                     {"after", number("after", job.after)},
                     {"overhead", number("overhead", job.overhead)},
                     {"speculation", flag("speculation", job.speculation)},
                     {"sizes", sizes}});
  }

  Status read_machine(const toml::table& table) {
    ClusterMachines& kind = case_.machines.emplace_back();
    kind.name = fmt::format("{}", case_.machines.size());
    const Read name = [this, &kind](const toml::node& value) -> Status {
      const auto read = value.value_exact<std::string>();
      if (!read || read->empty()) return error(value, "name must be text in quotes, and not empty");
      kind.name = *read;
      return {};
    };
    return each_key(table, "machine",
                    {{"name", name},
                     {"count", whole("count", most_machines, kind.count)},
                     {"speed", number("speed", kind.speed)},
                     {"start_up", number("start_up", kind.start_up)},
                     {"link", number("link", kind.link)},
                     {"taken_every", number("taken_every", kind.taken_every)},
                     {"taken_for", number("taken_for", kind.taken_for)}});
  }

  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}:{}: {}", file_, node.source().begin.line, message);
  }

  std::string_view file_;
  ClusterCase case_;
};

}  // namespace

Result<ClusterCase> parse_cluster_toml(std::string_view text, std::string_view file_name) {
  const auto document = parse_toml(text, file_name);
  if (!document) return std::unexpected(document.error());
  return ClusterReader(file_name).read(*document);
}

}  // namespace millrace::model
