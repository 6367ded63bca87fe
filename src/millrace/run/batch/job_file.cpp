#include "millrace/run/batch/job_file.h"

#include "millrace/base/in_quotes.h"
#include "millrace/base/nearest_name.h"
#include "millrace/base/whole_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

namespace millrace::run {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 26;

using Words = std::map<std::string, std::vector<std::string>>;

std::string unknown_key(std::string_view key, std::span<const std::string_view> keys) {
  return fmt::format("a job has no {}{}", in_quotes(key), did_you_mean(key, keys));
}

std::string wrong_value(std::string_view key) {
  return fmt::format("{} must be text, a number, true or false, or an array of such", key);
}

std::optional<std::string> scalar(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

std::optional<std::string> scalar(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

// One value, or those of an array; nothing where a value is none.
template <class Value, class Array>
std::optional<std::vector<std::string>> values_of(const Value& value, const Array* array) {
  std::vector<std::string> values;
  const auto add = [&](const auto& each) {
    auto text = scalar(each);
    if (text) values.push_back(std::move(*text));
    return text.has_value();
  };
  if (array == nullptr) return add(value) ? std::optional(values) : std::nullopt;
  for (const auto& each : *array)
    if (!add(each)) return std::nullopt;
  return values;
}

class TomlJobs {
 public:
  TomlJobs(const std::string& name, std::span<const std::string_view> keys) : name_(name), keys_(keys) {}

  Result<std::vector<JobWords>> read(const toml::table& root) const {
    Words common;
    const toml::array* jobs = nullptr;
    for (const auto& [key, value] : root) {
      if (key.str() == "job") {
        jobs = value.as_array();
        if (jobs == nullptr) return error(value, "write [[job]] before each job, in double brackets");
      } else if (Status read = word(common, key, value); !read) {
        return std::unexpected(read.error());
      }
    }
    if (jobs == nullptr || jobs->empty())
      return usage_error("{}: no [[job]] in the file; write one for each job", name_);
    std::vector<JobWords> read;
    for (const toml::node& node : *jobs) {
      const toml::table* table = node.as_table();
      if (table == nullptr) return error(node, "a job must be a table; write [[job]] before it");
      JobWords job{.place = place(node), .words = common};
      for (const auto& [key, value] : *table)
        if (Status done = word(job.words, key, value); !done) return std::unexpected(done.error());
      read.push_back(std::move(job));
    }
    return read;
  }

 private:
  [[nodiscard]] std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", name_, node.source().begin.line);
  }
  [[nodiscard]] std::unexpected<Error> error(const toml::node& node, std::string_view message) const {
    return usage_error("{}: {}", place(node), message);
  }

  Status word(Words& words, const toml::key& key, const toml::node& value) const {
    if (std::ranges::find(keys_, key.str()) == keys_.end())
      return error(value, unknown_key(key.str(), keys_));
    auto values = values_of(value, value.as_array());
    if (!values) return error(value, wrong_value(key.str()));
    words.insert_or_assign(std::string(key.str()), std::move(*values));
    return {};
  }

  const std::string& name_;
  std::span<const std::string_view> keys_;
};

Result<JobWords> json_job(std::string_view line, std::string place, std::span<const std::string_view> keys) {
  constexpr const char* example = R"({"input": "a.mp4", "pipeline": "@A"})";
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object())
    return usage_error("{}: is no JSON object; write one for each job on a line of its own, as {}", place,
                       example);
  JobWords job{.place = std::move(place), .words = {}};
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(keys, key) == keys.end())
      return usage_error("{}: {}", job.place, unknown_key(key, keys));
    auto values = values_of(value, value.is_array() ? &value : nullptr);
    if (!values) return usage_error("{}: {}", job.place, wrong_value(key));
    job.words.emplace(key, std::move(*values));
  }
  return job;
}

}  // namespace

Result<std::vector<JobWords>> parse_toml_jobs(std::string_view text, const std::string& name,
                                              std::span<const std::string_view> keys) {
  try {
    return TomlJobs(name, keys).read(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    return usage_error("{}:{}: {}", name, error.source().begin.line, error.description());
  }
}

Result<std::vector<JobWords>> parse_json_jobs(std::string_view text, const std::string& name,
                                              std::span<const std::string_view> keys) {
  std::vector<JobWords> jobs;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto job = json_job(line, fmt::format("{}:{}", name, number), keys);
    if (!job) return std::unexpected(job.error());
    jobs.push_back(std::move(*job));
  }
  if (jobs.empty()) return usage_error("{}: holds no job; write one JSON object a line for each", name);
  return jobs;
}

Result<std::vector<JobWords>> read_job_file(const std::string& path, std::span<const std::string_view> keys) {
  const auto text = read_text(path, most_bytes);
  if (!text) return std::unexpected(text.error());
  const std::string name = path == "-" ? "standard input" : path;
  return path.ends_with(".toml") ? parse_toml_jobs(*text, name, keys) : parse_json_jobs(*text, name, keys);
}

}  // namespace millrace::run
