// Exports the daemon's state as metrics for Prometheus. Labels name programs and control groups, never
// threads, because there can be hundreds of thousands of threads.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cli {

// Converts a reply to Status to Prometheus' text format.
[[nodiscard]] std::string metrics_text(const nlohmann::json& status);

// Answers GET /metrics on a port of this machine, with its own threads.
class MetricsExposer {
 public:
  // where: "127.0.0.1:9464". If it cannot listen there, it prints one message on standard error and does
  // nothing else: the daemon must not end because of metrics.
  explicit MetricsExposer(const std::string& where);
  MetricsExposer(const MetricsExposer&) = delete;
  MetricsExposer& operator=(const MetricsExposer&) = delete;
  ~MetricsExposer();

  // Sets the state for later requests. Any thread.
  void publish(const nlohmann::json& status);

 private:
  class Published;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::cli
