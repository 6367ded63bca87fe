#include "millrace/cli/daemon/daemon_metrics.h"

#include "millrace/base/text/error_line.h"
#include "millrace/placement/daemon/reply_members.h"

#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace millrace::cli {
namespace {

using nlohmann::json;
using placement::list_of;
using placement::member;
using placement::number_of;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// The raw value, for labels.
std::string label_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  const auto* const text = found != object.end() ? found->get_ptr<const std::string*>() : nullptr;
  return text == nullptr ? "" : *text;
}
// Sum over all programs with one name and control group.
struct Sum {
  double programs = 0;
  double threads = 0;
  double busy = 0;
  double cpu_seconds = 0;  // includes ended programs
  double moves = 0;        // includes ended programs
  double gain_predicted = 0;
  double gain_measured = 0;
  std::map<std::string, double> demand;  // weighted by `busy`
};
using Labels = std::vector<ClientMetric::Label>;

class Families {
 public:
  void add(const std::string& name, const std::string& help, MetricType type, Labels labels, double value) {
    auto& family = families_.try_emplace(name, MetricFamily{name, help, type, {}}).first->second;
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    metric.counter.value = value;
    family.metric.push_back(std::move(metric));
  }
  [[nodiscard]] std::vector<MetricFamily> take() {
    std::vector<MetricFamily> all;
    for (auto& [name, family] : families_)
      all.push_back(std::move(family));
    return all;
  }

 private:
  std::map<std::string, MetricFamily> families_;
};

std::map<std::pair<std::string, std::string>, Sum> sums_of(const json& status) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const json& program : list_of(status, "programs")) {
    Sum& sum = sums[{label_of(program, "name"), label_of(program, "cgroup")}];
    const double busy = number_of(program, "busy");
    sum.programs += 1;
    sum.threads += number_of(program, "threads");
    sum.busy += busy;
    sum.cpu_seconds += number_of(program, "cpu_seconds");
    sum.moves += number_of(program, "moves");
    sum.gain_predicted += busy * number_of(program, "gain_predicted");
    sum.gain_measured += busy * number_of(program, "gain_measured");
    const json& demand = member(program, "demand");
    for (const auto& [unit, share] : demand.items())
      if (share.is_number()) sum.demand[unit] += busy * share.get<double>();
  }
  for (const json& ended : list_of(status, "ended")) {
    Sum& sum = sums[{label_of(ended, "name"), label_of(ended, "cgroup")}];
    sum.cpu_seconds += number_of(ended, "cpu_seconds");
    sum.moves += number_of(ended, "moves");
  }
  return sums;
}

std::vector<MetricFamily> families_of(const json& status) {
  using enum MetricType;
  Families families;
  const json& daemon = member(status, "daemon");
  families.add("millrace_daemon_cpu_seconds_total", "CPU time that the daemon itself took", Counter, {},
               number_of(daemon, "cpu_seconds"));
  families.add("millrace_daemon_requests_refused_total", "Requests of clients that were refused", Counter, {},
               number_of(daemon, "requests_refused"));
  families.add("millrace_daemon_programs", "Programs that are watched", Gauge, {},
               static_cast<double>(list_of(status, "programs").size()));
  families.add("millrace_daemon_places", "1 where threads may be placed, 0 where they are only observed",
               Gauge, {}, label_of(daemon, "places_nothing_as").empty() ? 1 : 0);
  for (const auto& [key, sum] : sums_of(status)) {
    const Labels labels{{"program", key.first}, {"cgroup", key.second}};
    families.add("millrace_program_threads", "Threads that are watched", Gauge, labels, sum.threads);
    families.add("millrace_program_busy", "CPUs' worth that these computed in the last second", Gauge, labels,
                 sum.busy);
    families.add("millrace_program_cpu_seconds_total", "CPU time while watched", Counter, labels,
                 sum.cpu_seconds);
    families.add("millrace_program_moves_total", "Masks that threads were given or given back", Counter,
                 labels, sum.moves);
    if (sum.busy <= 0) continue;
    families.add("millrace_program_gain_predicted",
                 "Predicted of the best placement over the present one: 0.1 is 10 %", Gauge, labels,
                 sum.gain_predicted / sum.busy);
    families.add("millrace_program_gain_measured", "Measured by trials on the program's own progress", Gauge,
                 labels, sum.gain_measured / sum.busy);
    for (const auto& [unit, share] : sum.demand) {
      Labels of_unit = labels;
      of_unit.push_back({"unit", unit});
      families.add("millrace_program_demand", "Share of the computing that wants this unit or memory level",
                   Gauge, std::move(of_unit), share / sum.busy);
    }
  }
  return families.take();
}

}  // namespace

std::string metrics_text(const json& status) {
  return prometheus::TextSerializer().Serialize(families_of(status));
}

// Collected on the exposer's threads.
class MetricsExposer::Published : public prometheus::Collectable {
 public:
  void set(std::vector<MetricFamily> families) {
    const std::scoped_lock lock(mutex_);
    families_ = std::move(families);
  }
  [[nodiscard]] std::vector<MetricFamily> Collect() const override {
    const std::scoped_lock lock(mutex_);
    return families_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<MetricFamily> families_;
};

struct MetricsExposer::Parts {
  std::shared_ptr<Published> published = std::make_shared<Published>();
  std::unique_ptr<prometheus::Exposer> exposer;
};

MetricsExposer::MetricsExposer(const std::string& where) : parts_(std::make_unique<Parts>()) {
  try {
    // An idle connection blocks a thread for at most this long.
    parts_->exposer = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", where, "num_threads", "2", "request_timeout_ms", "1000"});
    parts_->exposer->RegisterCollectable(parts_->published);
  } catch (const std::exception& error) {
    parts_->exposer.reset();
    print_error("millrace", fmt::format("no metrics: cannot listen at {}: {}", where, error.what()));
  }
}

MetricsExposer::~MetricsExposer() = default;

void MetricsExposer::publish(const json& status) {
  if (parts_->exposer) parts_->published->set(families_of(status));
}

}  // namespace millrace::cli
