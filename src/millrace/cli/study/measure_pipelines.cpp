#include "millrace/cli/study/measure_pipelines.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/cli/study/made_inputs.h"
#include "millrace/cli/study/program_run.h"
#include "millrace/model/pipeline/recorded_run.h"
#include "millrace/report/study/turn_order.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;
using report::ProgramRuns;
using report::ProgramSetting;
using report::ServiceTimes;
using report::StudyProgram;

constexpr std::size_t most_report_bytes = std::size_t{64} << 20;

// The first `count` usable CPUs.
machine::CpuSet some_of(const machine::CpuSet& usable, int count) {
  machine::CpuSet some;
  for (const int cpu : usable) {
    if (count-- <= 0) break;
    some.insert(cpu);
  }
  return some;
}

class Measurement {
 public:
  Measurement(const PipelineRequest& request, const machine::MachineReport& machine,
              const Interrupt& interrupt, const fs::path& scratch)
      : request_(request), machine_(machine), interrupt_(interrupt), scratch_(scratch),
        progress_(request.progress, {.plural = "runs"}) {
    observed_.pes = machine.usable.worker_limit;
    observed_.quick = request.quick;
  }

  [[nodiscard]] Result<report::PipelineObservations> measure() {
    std::set<ProgramSetting> wanted;
    std::set<StudyProgram> programs;
    for (const report::PipelineStudy study : request_.studies) {
      for (const ProgramSetting& setting : report::settings_of(study, observed_.pes, request_.quick))
        wanted.insert(setting);
      for (const StudyProgram program : {StudyProgram::similar, StudyProgram::dedup})
        if (report::needs(study, program)) programs.insert(program);
    }
    const bool four_stages =
        std::ranges::find(request_.studies, report::PipelineStudy::fig11) != request_.studies.end();
    total_ = static_cast<std::int64_t>(wanted.size()) * request_.runs;
    for (const StudyProgram program : programs) {
      if (Status ready = prepare(program); !ready) return std::unexpected(ready.error());
      auto times = service_times(report::service_setting(program, false));
      if (!times) return std::unexpected(times.error());
      observed_.times.emplace(program, std::move(*times));
    }
    if (four_stages) {
      auto times = service_times(report::service_setting(StudyProgram::similar, true));
      if (!times) return std::unexpected(times.error());
      observed_.four_stages = std::move(*times);
    }
    const std::vector<ProgramSetting> settings(wanted.begin(), wanted.end());
    for (int run = 0; run < request_.runs; ++run) {
      for (std::size_t i = 0; i < settings.size(); ++i) {
        const std::size_t turn = report::whose_turn(i, run, settings.size());
        progress_.update(++done_, total_, settings[turn].strategy);
        const auto text = run_once(settings[turn]);
        if (!text) return std::unexpected(text.error());
        if (Status noted = note(settings[turn], *text); !noted) return std::unexpected(noted.error());
      }
    }
    progress_.clear();
    return std::move(observed_);
  }

 private:
  // Makes the input, and the index to query.
  [[nodiscard]] Status prepare(StudyProgram program) {
    if (program == StudyProgram::dedup) {
      stream_ = request_.stream.empty() ? scratch_ / "stream" : fs::path(request_.stream);
      if (!request_.stream.empty()) return {};
      return make_stream(stream_, request_.quick ? std::size_t{8} << 20 : std::size_t{192} << 20);
    }
    photos_ = request_.photos.empty() ? scratch_ / "photos" : fs::path(request_.photos);
    if (request_.photos.empty()) {
      std::error_code error;
      fs::create_directory(photos_, error);
      if (error) return failure("cannot create {}: {}", photos_.string(), error.message());
      if (Status made = make_photos(photos_, request_.quick ? 12 : 400, request_.quick ? 96 : 384); !made)
        return made;
    }
    const auto indexed = run_program({find_program("millrace-similar", request_.programs), "index",
                                      photos_.string(), "-o", (scratch_ / "index").string(), "-q"},
                                     {}, scratch_, interrupt_);
    return indexed ? Status() : std::unexpected(indexed.error());
  }

  // Drops the files from the page cache, except pages that other processes have mapped.
  void forget_photos() const {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(photos_, error)) {
      const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      fdatasync(file);
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
  }

  // Returns the JSON report of a run.
  [[nodiscard]] Result<std::string> run_once(const ProgramSetting& setting) const {
    const std::string json = scratch_ / "run.json";
    std::vector<std::string> words;
    if (setting.program == StudyProgram::similar) {
      words = {find_program("millrace-similar", request_.programs),
               "query",
               photos_.string(),
               "-i",
               (scratch_ / "index").string(),
               "--oversubscribe",
               "--queue",
               std::to_string(setting.queue)};
      if (setting.readers > 0) words.insert(words.end(), {"--readers", std::to_string(setting.readers)});
    } else {
      words = {find_program("millrace-dedup", request_.programs), "pack", stream_.string(),
               (scratch_ / "archive").string()};
    }
    words.insert(words.end(), {"-q", "-y", "--json", json, "--strategy", setting.strategy, "--threads",
                               std::to_string(setting.threads)});
    if (setting.tokens > 0) words.insert(words.end(), {"--tokens", std::to_string(setting.tokens)});
    if (setting.cold) forget_photos();
    const auto run =
        run_program(words, {.cpus = some_of(machine_.usable.cpus, setting.pes)}, scratch_, interrupt_);
    if (!run) return std::unexpected(run.error());
    return read_text(json, most_report_bytes);
  }

  [[nodiscard]] Result<ServiceTimes> service_times(const ProgramSetting& setting) const {
    const auto text = run_once(setting);
    if (!text) return std::unexpected(text.error());
    auto run = model::parse_recorded_run(*text, "the report of the run");
    if (!run) return std::unexpected(run.error());
    return ServiceTimes{std::move(run->pipeline), run->items, run->wall_seconds};
  }

  [[nodiscard]] Status note(const ProgramSetting& setting, const std::string& text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto refused = [] { return failure("the report of the run cannot be read"); };
    if (json.is_discarded() || !json.contains("run")) return refused();
    const auto& run = json["run"];
    if (!run.contains("wall_s") || !run["wall_s"].is_number() || !run.contains("stages")) return refused();
    ProgramRuns& runs = observed_.runs[setting];
    const auto& stages = run["stages"];
    if (runs.seconds.empty())
      for (const auto& stage : stages)
        runs.stages.push_back({stage.value("name", ""), std::max(1, stage.value("threads", 1)), {}});
    if (runs.stages.size() != stages.size()) return refused();
    runs.seconds.push_back(run["wall_s"].get<double>());
    for (std::size_t i = 0; i < stages.size(); ++i)
      runs.stages[i].busy_s.push_back(stages[i].value("busy_s", 0.0));
    return {};
  }

  const PipelineRequest& request_;
  const machine::MachineReport& machine_;
  const Interrupt& interrupt_;
  const fs::path& scratch_;
  ProgressLine progress_;
  report::PipelineObservations observed_;
  fs::path photos_;
  fs::path stream_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

Result<report::PipelineObservations> measure_pipelines(const PipelineRequest& request,
                                                       const machine::MachineReport& machine,
                                                       const Interrupt& interrupt) {
  const auto scratch = ScratchFolder::make();
  if (!scratch) return std::unexpected(scratch.error());
  return Measurement(request, machine, interrupt, scratch->path()).measure();
}

}  // namespace millrace::cli
