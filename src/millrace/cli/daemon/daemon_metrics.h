// What a daemon knows as metrics for Prometheus. Labels name programs and control groups, never threads: of
// these there may be hundreds of thousands.
#pragma once

#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cli {

// Of a reply to Status, in the text format.
[[nodiscard]] std::string metrics_text(const nlohmann::json& status);

// Answers GET /metrics at a port of this machine, by threads of its own.
class MetricsExposer {
 public:
  // where: "127.0.0.1:9464". Where nothing can listen there, trouble is told once on standard error, and
  // nothing else happens: metrics are no reason to end.
  explicit MetricsExposer(const std::string& where);
  MetricsExposer(const MetricsExposer&) = delete;
  MetricsExposer& operator=(const MetricsExposer&) = delete;
  ~MetricsExposer();

  // What is answered from now on. Any thread may call it.
  void publish(const nlohmann::json& status);

 private:
  class Published;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::cli
