#include "millrace/cli/study/measure_dispatch.h"

#include "millrace/base/numbers/median.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/cli/study/made_inputs.h"
#include "millrace/cli/study/program_run.h"
#include "millrace/cli/study/thread_costs.h"
#include "millrace/report/study/turn_order.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::Binding;
using report::DispatchSetting;
using report::Verb;

constexpr int threads_of_paper = 4;
constexpr int most_runs_alone = 9;

// From a text that ends with "0.512 ms".
std::optional<double> ms_of(std::string_view text) {
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  constexpr std::string_view unit = " ms";
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  const auto number = parse_number<double>(text.substr(text.find_last_of(" \n") + 1));
  return number && *number > 0 ? std::optional(*number) : std::nullopt;
}

class Executions {
 public:
  Executions(const DispatchRequest& request, const std::filesystem::path& scratch, const Interrupt& interrupt)
      : skipline_(find_program("millrace-skipline", request.programs)),
        millrace_(find_program("millrace", request.programs)), scratch_(scratch), interrupt_(interrupt) {}

  [[nodiscard]] Status prepare(report::Variant variant) const {
    for (const int threads : {threads_of_paper, 1}) {
      const auto made =
          run_program({skipline_, "encode", image(), encoded(variant, threads), "-y", "-q", "--variant",
                       std::string(report::name_of(variant)), "--threads", std::to_string(threads)},
                      {}, scratch_, interrupt_);
      if (!made) return std::unexpected(made.error());
    }
    return {};
  }
  [[nodiscard]] std::string image() const { return scratch_ / "text.pbm"; }

  [[nodiscard]] Result<double> milliseconds(const DispatchSetting& setting) const {
    std::vector<std::string> words;
    if (setting.binding == Binding::plus_one_to_one || setting.binding == Binding::plus_main)
      words = {millrace_,
               "exec",
               "--quiet",
               "--policy",
               setting.binding == Binding::plus_main ? "main-least-loaded" : "one-to-one",
               "--"};
    add_command(setting, threads_of_paper, words);
    if (setting.binding == Binding::own_one_to_one || setting.binding == Binding::own_main)
      words.insert(words.end(),
                   {"--dispatch", setting.binding == Binding::own_main ? "main-least-loaded" : "one-to-one"});
    return time_of(words, {});
  }
  // With one thread on one CPU.
  [[nodiscard]] Result<double> milliseconds_alone(const DispatchSetting& setting,
                                                  const machine::CpuSet& cpu) const {
    std::vector<std::string> words;
    add_command(setting, 1, words);
    return time_of(words, {.cpus = cpu});
  }

 private:
  [[nodiscard]] std::string encoded(report::Variant variant, int threads) const {
    return scratch_ / fmt::format("{}.{}", report::name_of(variant), threads);
  }
  void add_command(const DispatchSetting& setting, int threads, std::vector<std::string>& words) const {
    words.push_back(skipline_);
    if (setting.verb == Verb::encode)
      words.insert(words.end(),
                   {"encode", image(), scratch_ / "made", "-y", "--variant",
                    std::string(report::name_of(setting.variant)), "--threads", std::to_string(threads)});
    else
      words.insert(words.end(), {"decode", encoded(setting.variant, threads), scratch_ / "back.pbm", "-y"});
  }
  [[nodiscard]] Result<double> time_of(const std::vector<std::string>& words,
                                       const ProgramSetup& setup) const {
    const auto run = run_program(words, setup, scratch_, interrupt_);
    if (!run) return std::unexpected(run.error());
    const auto ms = ms_of(run->errors);
    if (!ms) return failure("millrace-skipline does not say how long it took");
    return *ms;
  }

  std::string skipline_;
  std::string millrace_;
  const std::filesystem::path& scratch_;
  const Interrupt& interrupt_;
};

}  // namespace

Result<report::DispatchObservations> measure_dispatch(const DispatchRequest& request,
                                                      const machine::MachineReport& machine,
                                                      const Interrupt& interrupt) {
  const auto scratch = ScratchFolder::make();
  if (!scratch) return std::unexpected(scratch.error());
  const Executions executions(request, scratch->path(), interrupt);
  if (Status made = make_text_image(executions.image()); !made) return std::unexpected(made.error());
  for (const report::Variant variant : {report::Variant::basic, report::Variant::swing, report::Variant::tow})
    if (Status ready = executions.prepare(variant); !ready) return std::unexpected(ready.error());
  const auto settings = report::dispatch_settings(request.studies);
  report::DispatchObservations observed{.cpus = machine.usable.worker_limit, .threads = threads_of_paper};
  const auto costs = measure_thread_costs(machine.usable.cpus);
  if (!costs) return std::unexpected(costs.error());
  observed.costs = *costs;
  std::map<std::pair<report::Variant, Verb>, std::vector<double>> alone;
  ProgressLine progress(request.progress, {.plural = "executions"});
  std::int64_t done = 0;
  for (int execution = 0; execution < request.executions; ++execution) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const std::size_t turn = report::whose_turn(i, execution, settings.size());
      progress.update(++done, std::ssize(settings) * request.executions,
                      report::name_of(settings[turn].binding));
      const auto ms = executions.milliseconds(settings[turn]);
      if (!ms) return std::unexpected(ms.error());
      observed.ms[settings[turn]].push_back(*ms);
      if (settings[turn].binding != Binding::none) continue;
      std::vector<double>& times = alone[{settings[turn].variant, settings[turn].verb}];
      if (std::ssize(times) == most_runs_alone) continue;
      const auto one = executions.milliseconds_alone(settings[turn], machine.usable.cpus.first(1));
      if (!one) return std::unexpected(one.error());
      times.push_back(*one);
    }
  }
  for (const auto& [which, times] : alone)
    observed.alone_ms[which] = median(times);
  progress.clear();
  return observed;
}

}  // namespace millrace::cli
