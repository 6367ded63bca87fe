// Job files: the jobs of a batch, in TOML or as one JSON object per line.
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

#include "millrace/base/error/result.h"

#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::run {

// The values of a job as text: numbers as written, booleans as "true" and "false".
struct JobWords {
  std::string place;                                      // for messages: "jobs.toml:7"
  std::map<std::string, std::vector<std::string>> words;  // an array gives several
};

// `name`: name of the file for messages. `keys`: the allowed keys of a job. Usage errors name the file and
// the line and say what to do.
[[nodiscard]] Result<std::vector<JobWords>> parse_toml_jobs(std::string_view text, const std::string& name,
                                                            std::span<const std::string_view> keys);
[[nodiscard]] Result<std::vector<JobWords>> parse_json_jobs(std::string_view text, const std::string& name,
                                                            std::span<const std::string_view> keys);

// Reads a file: TOML if its name ends in ".toml", else lines of JSON; "-" reads JSON from standard input.
// Interrupted if stopped while it waits for a pipe or terminal.
[[nodiscard]] Result<std::vector<JobWords>> read_job_file(const std::string& path,
                                                          std::span<const std::string_view> keys,
                                                          const std::stop_token& stop = {});

}  // namespace millrace::run
