#include "millrace/cli/batch/batch_options.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/image/kernel/program_identity.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/run/batch/input_stamp.h"
#include "millrace/run/batch/job_file.h"
#include "millrace/run/batch/job_names.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/video/codec_threads.h"
#include "millrace/version.h"
#include "millrace/video/codec_versions.h"
#include "millrace/video/reader.h"
#include "millrace/video/test_source.h"
#include "millrace/video/writer.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

namespace millrace::cli {
namespace {

using Values = std::vector<std::string>;

// Keys of a job in a job file, in alphabetical order.
constexpr std::array<std::string_view, 27> job_keys{"at",
                                                    "bitrate",
                                                    "codec",
                                                    "crf",
                                                    "decoder_threads",
                                                    "encoder_options",
                                                    "encoder_threads",
                                                    "end",
                                                    "format",
                                                    "frames",
                                                    "fusion",
                                                    "input",
                                                    "isa",
                                                    "loop",
                                                    "no_audio",
                                                    "no_autorotate",
                                                    "on_damage",
                                                    "output",
                                                    "pipeline",
                                                    "planes",
                                                    "preset",
                                                    "seed",
                                                    "start",
                                                    "structure",
                                                    "suffix",
                                                    "tile",
                                                    "treat_as_progressive"};

Status read_flag(std::string_view key, const Values& values, bool& target) {
  const bool on = values == Values{"true"};
  if (!on && values != Values{"false"})
    return usage_error("{} must be true or false, not {}", key,
                       in_quotes(fmt::format("{}", fmt::join(values, ", "))));
  target = on;
  return {};
}

template <class Number>
Status read_number(std::string_view key, const Values& values, Number least, Number most, auto& target) {
  const auto number = values.size() == 1 ? parse_number<Number>(values.front()) : std::nullopt;
  if (!number || *number < least || *number > most)
    return usage_error("{} must be a number from {} to {}, not {}", key, least, most,
                       in_quotes(fmt::format("{}", fmt::join(values, ", "))));
  target = *number;
  return {};
}

// Applies one key of a job file like the option of the same name.
Status apply(std::string_view key, const Values& values, run::RunOptions& options) {
  const std::map<std::string_view, std::string*> texts{{"codec", &options.codec},
                                                       {"fusion", &options.fusion},
                                                       {"isa", &options.isa},
                                                       {"bitrate", &options.bitrate},
                                                       {"preset", &options.preset},
                                                       {"format", &options.format},
                                                       {"start", &options.start},
                                                       {"end", &options.end},
                                                       {"planes", &options.planes},
                                                       {"on_damage", &options.on_damage},
                                                       {"structure", &options.structure},
                                                       {"tile", &options.tile}};
  if (const auto text = texts.find(key); text != texts.end()) {
    if (values.size() != 1) return usage_error("{} takes one value, not {}", key, values.size());
    *text->second = values.front();
    return {};
  }
  if (key == "at") options.changes = values;
  if (key == "encoder_options") options.encoder_options = values;
  if (key == "no_audio") return read_flag(key, values, options.no_audio);
  if (key == "no_autorotate") return read_flag(key, values, options.no_autorotate);
  if (key == "treat_as_progressive") return read_flag(key, values, options.treat_as_progressive);
  if (key == "crf") return read_number(key, values, 0, 63, options.crf);
  if (key == "decoder_threads") return read_number(key, values, 1, 256, options.decoder_threads);
  if (key == "encoder_threads") return read_number(key, values, 1, 256, options.encoder_threads);
  if (key == "frames")
    return read_number(key, values, std::int64_t{1}, std::int64_t{1} << 40, options.frames);
  if (key == "loop") return read_number(key, values, 1, 1 << 30, options.loop);
  if (key == "seed")
    return read_number(key, values, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
                       options.seed);
  return {};
}

// A job before its inputs are expanded and its output is named.
struct RoughJob {
  std::string place;  // "jobs.toml:7"; empty for the command line
  run::RunOptions options;
  std::string pipeline;
  std::vector<std::string> inputs;
  std::string output;
  std::string suffix;
};

std::unexpected<Error> at(const std::string& place, Error error) {
  if (!place.empty()) error.message = fmt::format("{}: {}", place, error.message);
  return std::unexpected(std::move(error));
}

Result<RoughJob> rough_job(const run::JobWords& words, const BatchOptions& common) {
  RoughJob job{.place = words.place,
               .options = common.run,
               .pipeline = common.words.empty() ? "" : common.words.front(),
               .inputs = {},
               .output = common.output,
               .suffix = common.suffix};
  for (const auto& [key, values] : words.words) {
    if (Status applied = apply(key, values, job.options); !applied) return at(words.place, applied.error());
    if (key == "input") job.inputs = values;
    for (const auto& [name, target] :
         {std::pair{"pipeline", &job.pipeline}, {"output", &job.output}, {"suffix", &job.suffix}}) {
      if (key != name) continue;
      if (values.size() != 1)
        return at(words.place, usage_error("{} takes one value, not {}", key, values.size()).error());
      *target = values.front();
    }
    if (key == "output" && job.output.empty())
      return at(words.place, usage_error("{}", no_output_name).error());
  }
  // A job's own values override those for all jobs.
  if (words.words.contains("output") && !words.words.contains("suffix")) job.suffix.clear();
  if (job.inputs.empty())
    return at(words.place,
              usage_error("this job has no input; write input = \"a.mp4\", for example").error());
  if (job.pipeline.empty())
    return at(words.place,
              usage_error("this job has no pipeline; write pipeline = \"@A\", for example").error());
  return job;
}

Result<std::vector<RoughJob>> rough_jobs(const BatchOptions& options, const std::stop_token& stop) {
  if (options.job_file.empty()) {
    if (options.words.size() < 2)
      return usage_error(
          "a pipeline and inputs are missing; give them, or --job-file; see 'millrace batch --help'");
    return std::vector{RoughJob{.place = "",
                                .options = options.run,
                                .pipeline = options.words.front(),
                                .inputs = {options.words.begin() + 1, options.words.end()},
                                .output = options.output,
                                .suffix = options.suffix}};
  }
  if (options.words.size() > 1)
    return usage_error("--job-file names the inputs; leave out {}", in_quotes(options.words[1]));
  const auto read = run::read_job_file(options.job_file, job_keys, stop);
  if (!read) return std::unexpected(read.error());
  std::vector<RoughJob> jobs;
  for (const run::JobWords& words : *read) {
    auto job = rough_job(words, options);
    if (!job) return std::unexpected(job.error());
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

// Parsed pipelines by text, because many jobs share one.
class Pipelines {
 public:
  explicit Pipelines(std::stop_token stop) : stop_(std::move(stop)) {}

  Result<image::Pipeline> load(const std::string& word) {
    if (const auto found = loaded_.find(word); found != loaded_.end()) return found->second;
    auto pipeline = image::load_pipeline(word, stop_);
    if (pipeline) loaded_.emplace(word, *pipeline);
    return pipeline;
  }

 private:
  std::stop_token stop_;
  std::map<std::string, image::Pipeline> loaded_;
};

// Everything that affects the bits of the output.
std::string settings_of(const run::RunOptions& o, const std::string& pipeline, int worker_limit) {
  const bool coded = video::is_coded_output(o.output);
  return fmt::format(
      "{}; planes {}; at {}; frames {}; loop {}; on damage {}; codec {}; crf {}; encoder threads {}; "
      "preset {}; bitrate {}; encoder options {}; format {}; start {}; end {}; audio {}; autorotate {}; "
      "progressive {}",
      pipeline, o.planes.empty() ? "auto" : o.planes, fmt::join(o.changes, " "), o.frames.value_or(0), o.loop,
      o.on_damage, o.codec.empty() ? "usual" : o.codec, o.crf ? fmt::format("{}", *o.crf) : "usual",
      o.encoder_threads.value_or(run::choose_codec_threads(worker_limit, false, coded).encoder), o.preset,
      o.bitrate, fmt::join(o.encoder_options, ","), o.format, o.start, o.end, !o.no_audio, !o.no_autorotate,
      o.treat_as_progressive);
}

std::string absolute(const std::string& name) {
  if (name.starts_with(video::test_source_prefix)) return name;
  std::error_code unknown;
  const auto path = std::filesystem::absolute(name, unknown);
  return unknown ? name : path.lexically_normal().string();
}

// Estimated pixels of all frames, from information that is cheap to get.
double guessed_pixels(const std::string& input) {
  if (input.starts_with(video::test_source_prefix)) {
    const auto spec = video::parse_test_source(input);
    return spec ? static_cast<double>(spec->format.width) * spec->format.height *
                      static_cast<double>(spec->frames)
                : 0;
  }
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(input, missing);
  if (missing) return 0;
  constexpr double coded_pixels_a_byte = 60;
  return static_cast<double>(bytes) * (video::is_coded_input(input) ? coded_pixels_a_byte : 2.0 / 3);
}

// Run options for the job's options.
Result<run::VideoRunOptions> run_words_of(run::RunOptions options, const image::Pipeline& pipeline,
                                          int worker_limit) {
  // The number of threads for a job changes while it runs, so work is divided for all threads.
  if (options.threads == 0) options.threads = worker_limit;
  const auto planes = planes_of(options);
  if (!planes) return std::unexpected(planes.error());
  auto run = video_run_options_of(options, pipeline, worker_limit);
  if (run) run->planes = *planes;
  return run;
}

Status check_together(const std::vector<PlannedJob>& jobs, const std::vector<NamedPath>& also_read) {
  std::vector<run::JobFiles> files;
  files.reserve(jobs.size());
  for (const PlannedJob& job : jobs)
    files.push_back({job.options.input, job.options.output});
  return run::check_distinct(files, also_read);
}

}  // namespace

std::vector<NamedPath> files_read_beside_inputs(const BatchOptions& options,
                                                const std::vector<PlannedJob>& jobs) {
  std::vector<NamedPath> files{{"--job-file", options.job_file}};
  std::set<std::string_view> pipelines;
  for (const PlannedJob& job : jobs)
    if (pipelines.insert(job.options.pipeline).second)
      files.push_back(run::pipeline_file(job.options.pipeline));
  return files;
}

Result<std::vector<PlannedJob>> plan_jobs(const BatchOptions& options, int worker_limit,
                                          const std::stop_token& stop) {
  auto rough = rough_jobs(options, stop);
  if (!rough) return std::unexpected(rough.error());
  // Options first, then inputs, then outputs, so that errors are reported in the order of typing.
  Pipelines pipelines(stop);
  for (const RoughJob& job : *rough) {
    const auto pipeline = pipelines.load(job.pipeline);
    if (!pipeline) return at(job.place, pipeline.error());
    if (const auto words = run_words_of(job.options, *pipeline, worker_limit); !words)
      return at(job.place, words.error());
  }
  std::size_t all = 0;
  for (RoughJob& job : *rough) {
    Values expanded;
    for (const std::string& word : job.inputs) {
      const auto names = run::expand_input(word);
      if (!names) return at(job.place, names.error());
      expanded.insert(expanded.end(), names->begin(), names->end());
    }
    job.inputs = std::move(expanded);
    all += job.inputs.size();
  }
  // Uncoded files need no FFmpeg.
  const bool coded = std::ranges::any_of(*rough, [](const RoughJob& job) {
    return video::is_coded_output(job.output) || std::ranges::any_of(job.inputs, video::is_coded_input);
  });
  const std::string program = fmt::format("millrace {} {}, {}", MILLRACE_VERSION, image::program_identity(),
                                          coded ? video::codec_versions() : "raw video");
  std::vector<PlannedJob> jobs;
  jobs.reserve(all);
  for (const RoughJob& job : *rough) {
    const auto pipeline = pipelines.load(job.pipeline);
    if (!pipeline) return at(job.place, pipeline.error());
    const auto pattern = run::output_pattern(job.output, job.suffix);
    if (!pattern) return at(job.place, pattern.error());
    const std::string pipeline_text = image::to_string(*pipeline);
    for (const std::string& input : job.inputs) {
      if (stop.stop_requested())
        return std::unexpected(Error{ErrorKind::interrupted, "interrupted before the first job"});
      const auto output = run::output_name(*pattern, {input, jobs.size() + 1, all});
      if (!output) return at(job.place, output.error());
      PlannedJob planned{.options = job.options, .pipeline = *pipeline, .pipeline_text = pipeline_text};
      planned.options.pipeline = job.pipeline;
      planned.options.input = input;
      planned.options.output = *output;
      planned.identity = {.settings = settings_of(planned.options, pipeline_text, worker_limit),
                          .program = program,
                          .input = absolute(input),
                          .input_stamp = run::stamp_of_input(input)};
      // Report invalid options now, not after hours.
      if (const auto job_of = batch_job_of(planned, worker_limit); !job_of)
        return at(job.place, job_of.error());
      jobs.push_back(std::move(planned));
    }
  }
  if (Status together = check_together(jobs, files_read_beside_inputs(options, jobs)); !together)
    return std::unexpected(together.error());
  return jobs;
}

Result<run::BatchJob> batch_job_of(const PlannedJob& job, int worker_limit) {
  const run::RunOptions& options = job.options;
  auto run = run_words_of(options, job.pipeline, worker_limit);
  if (!run) return std::unexpected(run.error());
  if (Status kind = video::check_output_kind(options.output, run->writer); !kind)
    return std::unexpected(kind.error());
  if (auto* search = std::get_if<run::SearchOptions>(&run->schedule)) {
    search->may_bind = false;
    // The best schedule next to other jobs has its own profile. The best one alone is a good start for it.
    search->related = {search->fixed};
    search->fixed.emplace("company", "batch");
  }
  run::BatchJob batch_job{.source = run::file_source(options.input),
                          .sink = run::file_sink(options.output),
                          .options = std::move(*run),
                          .kind = "",
                          .weight = guessed_pixels(options.input)};
  batch_job.kind = fmt::format("{}; {} {}; {}", job.identity.settings, batch_job.source.coded,
                               batch_job.sink.coded, options.structure);
  if (options.frames && batch_job.weight > 0) {
    if (const auto spec = video::parse_test_source(options.input))
      batch_job.weight *=
          std::min(1.0, static_cast<double>(*options.frames) / static_cast<double>(spec->frames));
  }
  batch_job.weight *= options.loop;
  return batch_job;
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number<double>(text.substr(0, digits));
  std::string unit = text.substr(digits);
  const bool binary = unit.size() == 3 && unit.ends_with("iB");
  if (unit.ends_with("iB"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with('B'))
    unit.pop_back();
  static constexpr std::string_view units = "kMGTP";
  const std::size_t power = unit.empty() ? 0 : units.find(unit == "K" ? "k" : unit) + 1;
  if (!number || *number <= 0 || unit.size() > 1 || (power == 0 && !unit.empty()))
    return usage_error("--memory: {} is not a size; write 1500M or 2G", in_quotes(text));
  const double bytes = *number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
  if (bytes >= 1e19) return usage_error("--memory: {} is too large; write 1500M or 2G", in_quotes(text));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace millrace::cli
