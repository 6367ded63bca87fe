// The machine report for people: labels on the left, wrapped text on the right.
#include "millrace/base/text/printable.h"
#include "millrace/machine/report/machine_report.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

constexpr std::size_t width = 80;
constexpr std::size_t label_width = 14;

// Lines with a label and values. Values wrap at blanks; a word longer than a line is truncated.
class TwoColumns {
 public:
  // text: untrusted, from the system or a user's file.
  void add(std::string_view label, std::string_view text) {
    const std::string shown = printable(text);
    std::string_view value = shown;
    constexpr std::size_t room = width - label_width;
    do {
      std::size_t length = std::min(room, value.size());
      std::size_t next = length;
      if (length < value.size()) {
        if (const auto blank = value.rfind(' ', room); blank != std::string_view::npos && blank > 0) {
          length = blank;
          next = blank + 1;
        }
      }
      text_ += fmt::format("{:<{}}{}\n", label, label_width, value.substr(0, length));
      value.remove_prefix(next);
      label = "";
    } while (!value.empty());
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024;
  constexpr std::int64_t mib = kib * 1024;
  constexpr std::int64_t gib = mib * 1024;
  if (bytes >= gib) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib);
  if (bytes >= mib && bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  if (bytes >= mib) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / mib);
  return fmt::format("{} KiB", bytes / kib);
}

// "0-1 2-3 4-5": lists a few sets by name, and otherwise counts the sets of each size.
std::string sets_text(const std::vector<CpuSet>& sets) {
  constexpr std::size_t few = 16;
  std::string text;
  if (sets.size() <= few) {
    for (const CpuSet& set : sets)
      text += (text.empty() ? "CPU " : " | ") + set.to_string();
    return text;
  }
  std::map<int, std::size_t> by_count;
  for (const CpuSet& set : sets)
    ++by_count[set.count()];
  for (const auto& [pus, count] : by_count)
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", count,
                        counted(static_cast<std::size_t>(pus), "PU"));
  return text;
}

std::string processor_text(const Topology& topology) {
  const std::string model = topology.packages().empty() ? "" : topology.packages().front().model;
  const std::string& architecture = topology.architecture();
  return fmt::format("{}{}", model.empty() ? topology.traits().title : model,
                     architecture.empty() ? "" : fmt::format(" ({})", architecture));
}

void add_usable(TwoColumns& columns, const MachineReport& report) {
  const UsableCpus& usable = report.usable;
  const auto total = static_cast<std::size_t>(report.topology.cpus().count());
  columns.add("usable", fmt::format("CPU {}: {} of {}, for at most {}", usable.cpus.to_string(),
                                    usable.cpus.count(), counted(total, "PU"),
                                    counted(static_cast<std::size_t>(usable.worker_limit), "worker")));
  for (const std::string& reason : usable.reasons)
    columns.add("", reason);
}

void add_caches(TwoColumns& columns, const Topology& topology) {
  // Groups equal caches into one line: level, type, size, number of PUs that share one.
  std::map<std::tuple<int, CacheType, std::int64_t, int>, std::size_t> equal;
  for (const Cache& cache : topology.caches())
    ++equal[{cache.level, cache.type, cache.size_bytes, cache.cpus.count()}];
  std::string_view label = "caches";
  for (const auto& [cache, count] : equal) {
    const auto& [level, type, bytes, pus] = cache;
    const std::string_view suffix = type == CacheType::data ? "d" : type == CacheType::instruction ? "i" : "";
    columns.add(label, fmt::format("{:<4} {} x {}, each for {}", fmt::format("L{}{}", level, suffix), count,
                                   size_text(bytes), counted(static_cast<std::size_t>(pus), "PU")));
    label = "";
  }
}

void add_nodes(TwoColumns& columns, const Topology& topology) {
  std::string_view label = "NUMA nodes";
  for (const NumaNode& node : topology.numa_nodes()) {
    const std::string cpus = node.cpus.empty() ? "no CPU" : "CPU " + node.cpus.to_string();
    columns.add(label, node.memory_bytes > 0
                           ? fmt::format("{}: {}, {}", node.number, cpus, size_text(node.memory_bytes))
                           : fmt::format("{}: {}", node.number, cpus));
    label = "";
  }
}

void add_core_kinds(TwoColumns& columns, const Topology& topology) {
  const auto& kinds = topology.core_kinds();
  if (kinds.size() < 2) return;
  std::string_view label = "core kinds";
  for (const CoreKind& kind : kinds) {
    const std::string_view rank = &kind == &kinds.front()  ? ", the slowest"
                                  : &kind == &kinds.back() ? ", the fastest"
                                                           : "";
    const std::string name = kind.name.empty() ? "" : " " + kind.name;
    columns.add(label, fmt::format("CPU {}{}{}", kind.cpus.to_string(), name, rank));
    label = "";
  }
}

std::string isa_text(Isa best) {
  std::string text;
  for (const Isa isa : all_isas())
    if (isa <= best) text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(isa));
  return text;
}

}  // namespace

std::string to_text(const MachineReport& report) {
  const Topology& topology = report.topology;
  TwoColumns columns;
  columns.add("processor", processor_text(topology));
  columns.add("kernel", report.kernel);
  add_usable(columns, report);
  columns.add("topology", fmt::format("{}, {}, {}, {}", counted(topology.packages().size(), "package"),
                                      counted(topology.cores().size(), "core"),
                                      counted(static_cast<std::size_t>(topology.cpus().count()), "PU"),
                                      counted(topology.numa_nodes().size(), "NUMA node")));
  columns.add("cores", sets_text(topology.cores()));
  add_core_kinds(columns, topology);
  columns.add("FPU groups", sets_text(topology.fpu_groups()));
  const UnitTraits& traits = topology.traits();
  columns.add("", fmt::format("({})", traits.explanation));
  columns.add("unit traits", fmt::format("{}: {} ({})", traits.family, traits.title, traits.from));
  add_caches(columns, topology);
  add_nodes(columns, topology);
  std::string_view label = "trust";
  for (const std::string& sentence : topology.trust().sentences()) {
    columns.add(label, sentence);
    label = "";
  }
  columns.add("instructions", isa_text(report.isa));
  columns.add("counters",
              fmt::format("{}{}", report.counters.available ? "" : "none: ", report.counters.explanation));
  return columns.take();
}

}  // namespace millrace::machine
