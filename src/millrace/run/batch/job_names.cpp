#include "millrace/run/batch/job_names.h"

#include "millrace/base/descriptor/descriptor_name.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/video/sequence_writer.h"
#include "millrace/video/test_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <glob.h>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view nothing = "null";

bool is_generated(std::string_view input) { return input.starts_with(video::test_source_prefix); }

std::string place_of(const std::string& name) {
  std::error_code unknown;
  const fs::path place = fs::weakly_canonical(fs::absolute(name, unknown), unknown);
  return unknown ? name : place.string();
}

// Detects files by path and by identity: a link is the same file under another name.
class FilesSeen {
 public:
  // The number with which the file was added before; otherwise adds it.
  std::optional<std::size_t> add(const std::string& name, std::size_t number) {
    const std::optional<std::size_t> before = find(name);
    if (before) return before;
    by_place_.emplace(place_of(name), number);
    struct stat status{};
    if (stat(name.c_str(), &status) == 0) by_file_.emplace(std::pair(status.st_dev, status.st_ino), number);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    if (const auto found = by_place_.find(place_of(name)); found != by_place_.end()) return found->second;
    struct stat status{};
    if (stat(name.c_str(), &status) != 0) return std::nullopt;
    const auto found = by_file_.find({status.st_dev, status.st_ino});
    return found == by_file_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string, std::size_t> by_place_;
  std::map<std::pair<dev_t, ino_t>, std::size_t> by_file_;
};

// Numbered pictures of jobs, and other files by name, grouped by folder.
class PicturesSeen {
 public:
  void add(const std::string& name, std::size_t job) {
    if (const auto sequence = video::picture_sequence(name)) {
      folders_[folder_of(*sequence)].sequences.emplace_back(*sequence, job);
    } else {
      const fs::path place = place_of(name);
      folders_[place.parent_path()].files.emplace_back(place.filename(), job);
    }
  }

  // The job with a file or sequence that `name` may be, or may be part of.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    const auto sequence = video::picture_sequence(name);
    const fs::path place = sequence ? fs::path() : fs::path(place_of(name));
    const auto folder = folders_.find(sequence ? folder_of(*sequence) : place.parent_path().string());
    if (folder == folders_.end()) return std::nullopt;
    for (const auto& [other, job] : folder->second.sequences)
      if (sequence ? sequence->may_meet(other) : other.number_of(place.filename().string()).has_value())
        return job;
    if (!sequence) return std::nullopt;
    for (const auto& [other, job] : folder->second.files)
      if (sequence->number_of(other)) return job;
    return std::nullopt;
  }

 private:
  struct Folder {
    std::vector<std::pair<video::SequenceName, std::size_t>> sequences;
    std::vector<std::pair<std::string, std::size_t>> files;
  };

  // Appends a file name, because a missing folder would keep its slashes.
  static std::string folder_of(const video::SequenceName& sequence) {
    return fs::path(place_of(sequence.folder() + "/1")).parent_path();
  }

  std::unordered_map<std::string, Folder> folders_;
};

}  // namespace

Result<std::vector<std::string>> expand_input(const std::string& word) {
  if (word.empty()) return usage_error("an input has no name; give files");
  if (word == "-") return usage_error("a batch cannot read standard input; give files");
  std::error_code error;
  if (is_generated(word)) return std::vector{word};
  const fs::file_status status = fs::status(word, error);
  if (fs::is_directory(status))
    return usage_error("{} is a folder; give what is in it: '{}/*.mp4'", word, word);
  // A missing file fails its own job only.
  if (fs::exists(status) || word.find_first_of("*?[") == std::string::npos) return std::vector{word};
  glob_t found{};
  const int outcome = glob(word.c_str(), GLOB_NOSORT, nullptr, &found);
  const std::unique_ptr<glob_t, decltype(&globfree)> freed(&found, &globfree);
  if (outcome == GLOB_NOSPACE) return failure("out of memory");
  std::vector<std::string> names;
  for (std::size_t i = 0; outcome == 0 && i < found.gl_pathc; ++i)
    if (!fs::is_directory(found.gl_pathv[i], error)) names.emplace_back(found.gl_pathv[i]);
  if (names.empty()) return usage_error("no file matches {}; see what ls {} says", in_quotes(word), word);
  std::ranges::sort(names);
  return names;
}

Result<std::string> output_name(std::string_view pattern, const NamedInput& named) {
  static constexpr std::array<std::string_view, 4> names{"dir", "index", "name", "stem"};
  // A generated video has no folder, even if its name has slashes.
  std::string plain = named.input;
  if (is_generated(plain)) std::ranges::replace(plain, '/', '_');
  const fs::path path = plain;
  const auto value = [&](std::string_view name) -> std::optional<std::string> {
    if (name == "stem") return is_generated(plain) ? plain : path.stem().string();
    if (name == "name") return path.filename().string();
    if (name == "dir") return path.has_parent_path() ? path.parent_path().string() : std::string(".");
    if (name == "index")
      return fmt::format("{:0{}}", named.number,
                         fmt::formatted_size("{}", std::max(named.jobs, named.number)));
    return std::nullopt;
  };
  std::string text;
  while (!pattern.empty()) {
    const char first = pattern.front();
    if (pattern.starts_with("{{") || pattern.starts_with("}}")) {
      text += first;
      pattern.remove_prefix(2);
    } else if (first == '{') {
      const std::size_t close = pattern.find('}');
      if (close == std::string_view::npos)
        return usage_error("output {}: a brace is not closed; {{{{ is a brace itself", in_quotes(pattern));
      const std::string_view name = pattern.substr(1, close - 1);
      const auto replaced = value(name);
      if (!replaced)
        return usage_error("output: there is no {{{}}}{}; use {{stem}}, {{name}}, {{dir}} or {{index}}", name,
                           did_you_mean(name, names));
      text += *replaced;
      pattern.remove_prefix(close + 1);
    } else {
      text += first;
      pattern.remove_prefix(1);
    }
  }
  return text;
}

Result<std::string> output_pattern(const std::string& output, const std::string& suffix) {
  if (output == "-")
    return usage_error("a batch cannot write to standard output; give -o 'FOLDER/{{stem}}.mkv'");
  if (suffix.find('/') != std::string::npos)
    return usage_error("--suffix {} holds a /; give the folder by -o", suffix);
  std::error_code error;
  const bool folder = output.ends_with('/') || (!output.empty() && fs::is_directory(output, error));
  if (suffix.empty()) {
    if (folder)
      return usage_error("{} is a folder; add --suffix .mp4, or give -o '{}{}{{stem}}.mp4'", output, output,
                         output.ends_with('/') ? "" : "/");
    if (output.empty())
      return usage_error(
          "the batch has no output; give -o 'FOLDER/{{stem}}.mp4', or -o null to keep nothing");
    return output;
  }
  if (output == nothing) return usage_error("--suffix {} says nothing of -o null; leave one out", suffix);
  if (output.empty()) return "{dir}/{stem}" + suffix;
  if (output.find('{') != std::string::npos)
    return usage_error("-o {} is a pattern already; leave out --suffix, or give a folder", output);
  return output + (output.ends_with('/') ? "" : "/") + "{stem}" + suffix;
}

Status check_distinct(std::span<const JobFiles> jobs, std::span<const NamedPath> also_read) {
  const bool pictures = std::ranges::any_of(jobs, [](const JobFiles& job) {
    return video::picture_sequence(job.input) || video::picture_sequence(job.output);
  });
  FilesSeen inputs;
  PicturesSeen input_pictures;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (is_generated(jobs[j].input)) continue;
    inputs.add(jobs[j].input, j);
    if (pictures) input_pictures.add(jobs[j].input, j);
  }
  FilesSeen others;
  for (std::size_t i = 0; i < also_read.size(); ++i)
    if (!also_read[i].path.empty() && also_read[i].path != "-") others.add(also_read[i].path, i);
  FilesSeen outputs;
  PicturesSeen output_pictures;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::string& output = jobs[j].output;
    if (output == nothing) continue;
    if (output == "-" || descriptor_named(output) == STDOUT_FILENO)
      return usage_error("a batch cannot write to standard output; give each job a file");
    std::error_code error;
    if (fs::is_character_file(fs::status(output, error))) continue;  // for example /dev/null
    if (inputs.find(output) || (pictures && input_pictures.find(output)))
      return usage_error("{}: is an input and the output of '{}'; choose another output", output,
                         jobs[j].input);
    if (const auto other = others.find(output))
      return usage_error("{}: is both {} and the output of '{}'; choose another output", output,
                         also_read[*other].role, jobs[j].input);
    const auto met = pictures ? output_pictures.find(output) : std::nullopt;
    if (const auto other = met ? met : outputs.add(output, j))
      return usage_error("{}: would be the output of both '{}' and '{}'; put {{stem}}, {{dir}} or {{index}} "
                         "into the output's name",
                         output, jobs[*other].input, jobs[j].input);
    if (pictures) output_pictures.add(output, j);
  }
  return {};
}

}  // namespace millrace::run
