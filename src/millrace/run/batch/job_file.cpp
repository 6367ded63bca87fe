#include "millrace/run/batch/job_file.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/take_word.h"
#include "millrace/base/text/toml_document.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto number = node.value_exact<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  return std::nullopt;
}

// The system would truncate a name at a NUL.
bool has_nul(std::string_view value) { return value.contains('\0'); }

std::string nul_in(std::string_view key) { return fmt::format("{} holds a NUL character; take it out", key); }

// One value, or those of an array; nullopt if one of them has an unsupported type.
std::optional<std::vector<std::string>> values_of(const toml::node& value) {
  std::vector<std::string> values;
  const auto add = [&](const toml::node& each) {
    auto text = scalar(each);
    if (text) values.push_back(std::move(*text));
    return text.has_value();
  };
  const toml::array* const array = value.as_array();
  if (array == nullptr) return add(value) ? std::optional(values) : std::nullopt;
  for (const toml::node& each : *array)
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
    auto values = values_of(value);
    if (!values) return error(value, wrong_value(key.str()));
    if (std::ranges::any_of(*values, has_nul)) return error(value, nul_in(key.str()));
    words.insert_or_assign(std::string(key.str()), std::move(*values));
    return {};
  }

  const std::string& name_;
  std::span<const std::string_view> keys_;
};

// Parses a line of JSON incrementally and stops at the first token that no job allows. So nothing is built
// from deep or long invalid lines.
class JsonJob final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonJob(Words& words, std::span<const std::string_view> keys) : words_(words), keys_(keys) {}

  // Why the line was refused.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  bool null() override { return refuse(wrong_value(key_)); }
  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(fmt::format("{}", value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(fmt::format("{}", value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return add(text); }
  bool string(string_t& value) override {
    return has_nul(value) ? refuse(nul_in(key_)) : add(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return refuse(wrong_value(key_)); }

  bool start_object(std::size_t /*elements*/) override {
    if (in_object_) return refuse(wrong_value(key_));
    in_object_ = true;
    return true;
  }
  bool key(string_t& key) override {
    if (std::ranges::find(keys_, key) == keys_.end()) return refuse(unknown_key(key, keys_));
    key_ = std::move(key);
    values_ = nullptr;
    const auto [place, added] = words_.try_emplace(key_);
    if (!added) return refuse(fmt::format("{} is given twice", key_));
    values_ = &place->second;
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t /*elements*/) override {
    if (!in_object_ || in_array_) return refuse(wrong_value(key_));
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return refuse(no_object);
  }

 private:
  bool add(std::string value) {
    if (!in_object_) return refuse(no_object);
    values_->push_back(std::move(value));
    return true;
  }
  bool refuse(std::string why) {
    wrong_ = in_object_ ? std::move(why) : no_object;
    return false;
  }

  static constexpr const char* no_object =
      R"(is not a JSON object; write one for each job on a line of its own, as {"input": "a.mp4", "pipeline": "@A"})";

  Words& words_;
  std::span<const std::string_view> keys_;
  std::string key_;
  std::vector<std::string>* values_ = nullptr;  // values of the current key
  bool in_object_ = false;
  bool in_array_ = false;
  std::string wrong_;
};

Result<JobWords> json_job(std::string_view line, std::string place, std::span<const std::string_view> keys) {
  JobWords job{.place = std::move(place), .words = {}};
  JsonJob reader(job.words, keys);
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &reader))
    return usage_error("{}: {}", job.place, reader.wrong());
  return job;
}

}  // namespace

Result<std::vector<JobWords>> parse_toml_jobs(std::string_view text, const std::string& name,
                                              std::span<const std::string_view> keys) {
  const auto document = parse_toml(text, name);
  if (!document) return std::unexpected(document.error());
  return TomlJobs(name, keys).read(*document);
}

Result<std::vector<JobWords>> parse_json_jobs(std::string_view text, const std::string& name,
                                              std::span<const std::string_view> keys) {
  std::vector<JobWords> jobs;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto job = json_job(line, fmt::format("{}:{}", name, number), keys);
    if (!job) return std::unexpected(job.error());
    jobs.push_back(std::move(*job));
  }
  if (jobs.empty()) return usage_error("{}: holds no job; write one JSON object a line for each", name);
  return jobs;
}

Result<std::vector<JobWords>> read_job_file(const std::string& path, std::span<const std::string_view> keys,
                                            const std::stop_token& stop) {
  const auto text = read_text(path, most_bytes, {}, stop);
  if (!text) return std::unexpected(text.error());
  const std::string name = path == "-" ? "standard input" : path;
  return path.ends_with(".toml") ? parse_toml_jobs(*text, name, keys) : parse_json_jobs(*text, name, keys);
}

}  // namespace millrace::run
