#include "millrace/cli/study/measure_decoders.h"

#include "millrace/base/numbers/median.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/study/made_streams.h"
#include "millrace/cli/study/program_run.h"
#include "millrace/cli/study/thread_costs.h"
#include "millrace/dispatch/millrace_dispatch.h"
#include "millrace/report/study/turn_order.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::Binding;
using report::Decoder;
using report::DecoderSetting;
using report::DecoderStream;

constexpr int decoder_threads = 4;
constexpr int most_decodings_alone = 9;

// The number after the last `name` in a text, if there is one.
std::optional<double> number_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.rfind(name);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + name.size());
  const auto number = parse_number<double>(text.substr(0, text.find_first_not_of("0123456789.")));
  return number && *number >= 0 ? number : std::nullopt;
}

// "bench: utime=0.100s stime=0.010s rtime=0.060s", in milliseconds.
std::optional<double> ms_of_ffmpeg(std::string_view text) {
  constexpr double half_a_millisecond = 0.5;
  const auto seconds = number_behind(text, "rtime=");
  return seconds ? std::optional(std::max(1e3 * *seconds, half_a_millisecond)) : std::nullopt;
}

// "Decoded 300/300 frames (100.0%) - 452.39/25.00 fps (18.10x)"
std::optional<double> ms_of_dav1d(std::string_view text, int frames) {
  const auto fps = number_behind(text, "%) - ");
  return fps && *fps > 0 ? std::optional(1e3 * frames / *fps) : std::nullopt;
}

struct FreeDispatch {
  void operator()(millrace_dispatch* dispatch) const { millrace_dispatch_free(dispatch); }
};
using OwnedDispatch = std::unique_ptr<millrace_dispatch, FreeDispatch>;

// Like the template of UDispatch+: main goes to the least loaded core, other threads are placed one-to-one
// when they appear.
Status place(millrace_dispatch* dispatch, pid_t process, bool main) {
  const auto refused = [] {
    return failure("libmillrace_dispatch: {}", std::generic_category().message(errno));
  };
  if (dispatch == nullptr) return refused();
  if (main) {
    const int core = millrace_dispatch_find_least_load_core();
    if (core < 0 || millrace_dispatch_bind_to_cpu(dispatch, process, core) != 0) return refused();
  }
  if (millrace_dispatch_on(dispatch, process) != 0) return refused();
  return {};
}

class DecoderExecutions {
 public:
  DecoderExecutions(const DecoderRequest& request, const std::filesystem::path& scratch,
                    const Interrupt& interrupt)
      : millrace_(find_program("millrace", request.programs)), scratch_(scratch), interrupt_(interrupt) {}

  [[nodiscard]] Result<double> milliseconds(const DecoderStream& stream, Decoder decoder,
                                            Binding binding) const {
    const bool main = binding == Binding::own_main || binding == Binding::plus_main;
    std::vector<std::string> words;
    if (binding == Binding::plus_one_to_one || binding == Binding::plus_main)
      words = {millrace_, "exec", "--quiet", "--policy", main ? "main-least-loaded" : "one-to-one", "--"};
    ProgramSetup setup;
    OwnedDispatch dispatch;
    if (binding == Binding::own_one_to_one || binding == Binding::own_main) {
      dispatch.reset(millrace_dispatch_new());
      setup.before_start = [&](pid_t process) { return place(dispatch.get(), process, main); };
    }
    return run(std::move(words), stream, decoder, decoder_threads, setup);
  }

  [[nodiscard]] Result<double> alone(const DecoderStream& stream, Decoder decoder,
                                     const machine::CpuSet& cpu) const {
    return run({}, stream, decoder, 1, {.cpus = cpu});
  }

 private:
  [[nodiscard]] Result<double> run(std::vector<std::string> words, const DecoderStream& stream,
                                   Decoder decoder, int threads, const ProgramSetup& setup) const {
    const std::string file = stream_file(scratch_, stream, decoder);
    const std::string count = std::to_string(threads);
    if (decoder == Decoder::ffmpeg)
      words.insert(words.end(), {"ffmpeg", "-nostdin", "-hide_banner", "-benchmark", "-threads", count,
                                 "-thread_type", "slice", "-i", file, "-f", "null", "-"});
    else
      words.insert(words.end(), {"dav1d", "-i", file, "-o", "/dev/null", "--muxer", "null", "--threads",
                                 count, "--framedelay", "1"});
    const auto ended = run_program(words, setup, scratch_, interrupt_);
    if (!ended) return std::unexpected(ended.error());
    const auto ms =
        decoder == Decoder::ffmpeg ? ms_of_ffmpeg(ended->errors) : ms_of_dav1d(ended->errors, stream.frames);
    if (!ms) return failure("{} does not say how long it took", report::name_of(decoder));
    return *ms;
  }

  std::string millrace_;
  const std::filesystem::path& scratch_;
  const Interrupt& interrupt_;
};

std::string clips_text(const std::vector<std::string>& clips) {
  if (clips.empty()) return "generated test pictures";
  std::string text;
  for (const std::string& clip : clips)
    text += (text.empty() ? "" : ", ") + in_quotes(clip);
  return text;
}

// Two streams that decode in a moment.
std::vector<DecoderStream> quick_streams() {
  return {{.number = 1, .width = 192, .height = 128, .frames = 10},
          {.number = 8, .width = 96, .height = 64, .frames = 10}};
}

Status make_streams(report::DecoderObservations& observed, const DecoderRequest& request,
                    const std::filesystem::path& folder, const Interrupt& interrupt) {
  ProgressLine progress(request.progress, {.plural = "streams"});
  std::int64_t done = 0;
  for (const DecoderStream& stream : observed.streams)
    for (const Decoder decoder : observed.decoders) {
      progress.update(done++, std::ssize(observed.streams) * std::ssize(observed.decoders), "made");
      if (Status made = make_coded_stream(folder, request.clips, stream, decoder, interrupt); !made)
        return made;
    }
  return {};
}

}  // namespace

Result<report::DecoderObservations> measure_decoders(const DecoderRequest& request,
                                                     const machine::MachineReport& machine,
                                                     const Interrupt& interrupt) {
  if (!is_installed("ffmpeg"))
    return usage_error(
        "the studies of decoders need ffmpeg and dav1d; install them (Debian: apt install ffmpeg dav1d)");
  report::DecoderObservations observed{.cpus = machine.usable.worker_limit,
                                       .threads = decoder_threads,
                                       .generated = request.clips.empty(),
                                       .source = clips_text(request.clips),
                                       .decoders = {Decoder::ffmpeg}};
  if (is_installed("dav1d"))
    observed.decoders.push_back(Decoder::dav1d);
  else
    observed.missing[Decoder::dav1d] =
        "it is not installed (Debian: apt install dav1d), and its rows are missing";
  if (request.quick)
    observed.streams = quick_streams();
  else
    observed.streams.assign(report::paper_streams().begin(), report::paper_streams().end());
  if (request.progress && observed.generated)
    print_note("no clip given: using generated test pictures; give films with --clips\n");

  const auto scratch = ScratchFolder::make();
  if (!scratch) return std::unexpected(scratch.error());
  if (Status made = make_streams(observed, request, scratch->path(), interrupt); !made)
    return std::unexpected(made.error());
  const auto costs = measure_thread_costs(machine.usable.cpus);
  if (!costs) return std::unexpected(costs.error());
  observed.costs = *costs;

  const DecoderExecutions executions(request, scratch->path(), interrupt);
  std::vector<DecoderSetting> settings;
  for (const DecoderStream& stream : observed.streams)
    for (const Decoder decoder : observed.decoders)
      for (const Binding binding : report::decoder_bindings(request.studies))
        settings.push_back({stream.number, decoder, binding});
  const auto stream_of = [&](int number) {
    return *std::ranges::find(observed.streams, number, &DecoderStream::number);
  };
  ProgressLine progress(request.progress, {.plural = "executions"});
  std::map<std::pair<int, Decoder>, std::vector<double>> alone;
  std::int64_t done = 0;
  for (int execution = 0; execution < request.executions; ++execution) {
    if (execution < most_decodings_alone)
      for (const DecoderStream& stream : observed.streams)
        for (const Decoder decoder : observed.decoders) {
          const auto ms = executions.alone(stream, decoder, machine.usable.cpus.first(1));
          if (!ms) return std::unexpected(ms.error());
          alone[{stream.number, decoder}].push_back(*ms);
        }
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const std::size_t turn = report::whose_turn(i, execution, settings.size());
      const DecoderSetting& setting = settings[turn];
      progress.update(++done, std::ssize(settings) * request.executions, report::name_of(setting.binding));
      const auto ms = executions.milliseconds(stream_of(setting.stream), setting.decoder, setting.binding);
      if (!ms) return std::unexpected(ms.error());
      observed.ms[setting].push_back(*ms);
    }
  }
  progress.clear();
  for (const auto& [which, times] : alone)
    observed.alone_ms[which] = median(times);
  return observed;
}

}  // namespace millrace::cli
