#include "millrace/placement/daemon/daemon_request.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using nlohmann::json;
using Method = DaemonRequest::Method;

constexpr std::pair<std::string_view, Method> methods[] = {
    {"GetInfo", Method::info},    {"Watch", Method::watch},   {"Announce", Method::announce},
    {"Unwatch", Method::unwatch}, {"Status", Method::status}, {"Explain", Method::explain},
    {"Pause", Method::pause},
};
constexpr std::string_view varlink_info = "org.varlink.service.GetInfo";
constexpr std::size_t longest_value = 4096;
constexpr std::int64_t greatest_pid = 1 << 22;

std::optional<Method> method_of(std::string_view name) {
  if (name == varlink_info) return Method::info;
  if (!name.starts_with(daemon_interface)) return std::nullopt;
  name.remove_prefix(daemon_interface.size());
  if (!name.starts_with('.')) return std::nullopt;
  name.remove_prefix(1);
  const auto* const found = std::ranges::find(methods, name, [](const auto& method) { return method.first; });
  return found == std::end(methods) ? std::nullopt : std::optional(found->second);
}

// Reads the parameters of a method. Unknown ones are errors, because the client expects them to have an
// effect.
class ParametersReader {
 public:
  explicit ParametersReader(DaemonRequest& request) : request_(&request) {}

  DaemonResult<void> read(const std::string& key, const json& value) {
    const Method method = request_->method;
    const bool targets = method == Method::watch || method == Method::announce || method == Method::unwatch ||
                         method == Method::pause;
    if (targets && key == "pid") return process(key, value);
    if (targets && method != Method::announce && key == "cgroup") return cgroup(key, value);
    if (targets && method != Method::announce && key == "exe") return text(key, value, request_->target.exe);
    if (method == Method::explain && key == "program") return text(key, value, request_->program);
    if (method == Method::status && key == "threads") return flag(key, value, request_->threads);
    if (method == Method::pause && key == "resume") return flag(key, value, request_->resume);
    return refuse(DaemonError::invalid, "there is no parameter {}", in_quotes(key.substr(0, longest_value)));
  }

 private:
  DaemonResult<void> process(const std::string& key, const json& value) {
    const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
    if (number < 1 || number > greatest_pid)
      return refuse(DaemonError::invalid, "{} must be a whole number from 1 to {}", key, greatest_pid);
    request_->target.process = static_cast<pid_t>(number);
    return {};
  }

  DaemonResult<void> cgroup(const std::string& key, const json& value) {
    if (auto read = text(key, value, request_->target.cgroup); !read) return read;
    const std::string& path = request_->target.cgroup;
    if (!path.starts_with('/') || path.find("/../") != std::string::npos || path.ends_with("/.."))
      return refuse(DaemonError::invalid, "{} must be a path that begins with '/' and has no '..'", key);
    return {};
  }

  DaemonResult<void> text(const std::string& key, const json& value, std::string& into) {
    const auto* const read = value.get_ptr<const std::string*>();
    if (read == nullptr || read->empty() || read->size() > longest_value || printable(*read) != *read)
      return refuse(DaemonError::invalid, "{} must be a text of 1 to {} bytes without control characters",
                    key, longest_value);
    into = *read;
    return {};
  }

  DaemonResult<void> flag(const std::string& key, const json& value, bool& into) {
    if (!value.is_boolean()) return refuse(DaemonError::invalid, "{} must be true or false", key);
    into = value.get<bool>();
    return {};
  }

  DaemonRequest* request_;
};

DaemonResult<void> check(const DaemonRequest& request) {
  const DaemonTarget& target = request.target;
  const int said = (target.process ? 1 : 0) + (target.cgroup.empty() ? 0 : 1) + (target.exe.empty() ? 0 : 1);
  if (said > 1) return refuse(DaemonError::invalid, "give one of pid, cgroup and exe");
  const bool wanted = request.method == Method::watch || request.method == Method::unwatch;
  if (wanted && said == 0) return refuse(DaemonError::invalid, "give pid, cgroup or exe");
  if (request.method == Method::announce && !target.process) return refuse(DaemonError::invalid, "give pid");
  if (request.method == Method::explain && request.program.empty())
    return refuse(DaemonError::invalid, "give program");
  return {};
}

}  // namespace

std::string name_of(DaemonError error) {
  switch (error) {
  case DaemonError::invalid:
    return "org.varlink.service.InvalidParameter";
  case DaemonError::unknown_method:
    return "org.varlink.service.MethodNotFound";
  case DaemonError::not_permitted:
    return fmt::format("{}.NotPermitted", daemon_interface);
  case DaemonError::not_found:
    return fmt::format("{}.NotFound", daemon_interface);
  case DaemonError::excluded:
    return fmt::format("{}.Excluded", daemon_interface);
  case DaemonError::too_many:
    return fmt::format("{}.TooMany", daemon_interface);
  case DaemonError::failed:
    break;
  }
  return fmt::format("{}.Failed", daemon_interface);
}

DaemonResult<DaemonRequest> parse_daemon_request(std::string_view line) {
  if (line.size() > longest_request)
    return refuse(DaemonError::invalid, "a request of more than {} bytes", longest_request);
  const json message = json::parse(line, nullptr, false);
  if (message.is_discarded() || !message.is_object())
    return refuse(DaemonError::invalid,
                  "a request is one line of JSON: {{\"method\": ..., \"parameters\": {{...}}}}");
  const auto name = message.find("method");
  const auto* const text = name == message.end() ? nullptr : name->get_ptr<const std::string*>();
  if (text == nullptr) return refuse(DaemonError::invalid, "method must be a text");
  const auto method = method_of(*text);
  if (!method)
    return refuse(DaemonError::unknown_method, "there is no method {}",
                  in_quotes(text->substr(0, longest_value)));
  DaemonRequest request{.method = *method};
  const auto parameters = message.find("parameters");
  if (parameters != message.end()) {
    if (!parameters->is_object()) return refuse(DaemonError::invalid, "parameters must be an object");
    ParametersReader reader(request);
    for (const auto& [key, value] : parameters->items())
      if (auto read = reader.read(key, value); !read) return std::unexpected(read.error());
  }
  if (auto right = check(request); !right) return std::unexpected(right.error());
  return request;
}

std::string daemon_request_line(std::string_view method, const nlohmann::json& parameters) {
  return json{{"method", fmt::format("{}.{}", daemon_interface, method)}, {"parameters", parameters}}.dump(
             -1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

}  // namespace millrace::placement
