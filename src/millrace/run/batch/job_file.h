// Job files: the jobs of a batch, written down. TOML, or one JSON object a line.
//
//   pipeline = "@A"                 # for all jobs that do not say otherwise
//   output = "out/{stem}.mkv"
//   [[job]]
//   input = "clips/*.mp4"
//   [[job]]
//   input = "film.mkv"
//   pipeline = "blur"
//   crf = 20
#pragma once

#include "millrace/base/result.h"

#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// What is written of a job, all as text: numbers as they are read, true and false as such.
struct JobWords {
  std::string place;                                      // for messages: "jobs.toml:7"
  std::map<std::string, std::vector<std::string>> words;  // several of an array
};

// `name`: of the file, in messages. `keys`: that a job may have. Usage errors that name file, line and the
// way out.
[[nodiscard]] Result<std::vector<JobWords>> parse_toml_jobs(std::string_view text, const std::string& name,
                                                            std::span<const std::string_view> keys);
[[nodiscard]] Result<std::vector<JobWords>> parse_json_jobs(std::string_view text, const std::string& name,
                                                            std::span<const std::string_view> keys);

// The file: TOML where it ends in ".toml", else lines of JSON; "-" for such on standard input. Interrupted
// where a wait for a pipe or terminal is stopped.
[[nodiscard]] Result<std::vector<JobWords>> read_job_file(const std::string& path,
                                                          std::span<const std::string_view> keys,
                                                          const std::stop_token& stop = {});

}  // namespace millrace::run
