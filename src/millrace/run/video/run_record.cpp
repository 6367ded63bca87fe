#include "millrace/run/video/run_record.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/run/video/bottleneck_share.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::run {
namespace {

double share_of(double seconds, const RunRecord& record) {
  return record.wall_seconds > 0 ? std::min(1.0, seconds / record.wall_seconds) : 0;
}

std::string threads_text(int threads, const char* codec) {
  if (threads == 0) return "";
  return fmt::format(", which has {}", counted(threads, fmt::format("{} thread", codec)));
}

}  // namespace

Bottleneck bottleneck_of(const RunTimes& times) {
  constexpr double most = 0.5;
  const double waiting = times.input_wait + times.output_wait;
  if (!(times.computing + waiting > most * times.wall)) return Bottleneck::none;
  // Computing costs nothing while the run waits anyway.
  if (gained_share(times.computing, waiting) > most) return Bottleneck::processing;
  return times.input_wait >= times.output_wait ? Bottleneck::input : Bottleneck::output;
}

// A run that waits for workers is bound by filters, perhaps those of other runs.
Bottleneck bottleneck_of(const RunRecord& record) {
  return bottleneck_of({.wall = record.wall_seconds,
                        .computing = record.compute_seconds + record.worker_wait_seconds,
                        .input_wait = record.input_wait_seconds,
                        .output_wait = record.output_wait_seconds});
}

std::string describe_bottleneck(const RunRecord& record) {
  if (!(record.wall_seconds > 0)) return "";
  const auto percent = [&](double seconds) { return 100 * share_of(seconds, record); };
  // Neither is clearly the bottleneck.
  const double gained = gained_share(record.compute_seconds + record.worker_wait_seconds,
                                     record.input_wait_seconds + record.output_wait_seconds);
  const char* const in_turn = gained > 0.25 && gained < 0.75 ? "filters and its " : "";
  std::string text;
  switch (bottleneck_of(record)) {
  case Bottleneck::input:
    text = fmt::format("the run is bound by its {}input{}", in_turn,
                       threads_text(record.decoder_threads, "decoder"));
    break;
  case Bottleneck::processing:
    text = "the run is bound by its filters";
    break;
  case Bottleneck::output:
    text = fmt::format("the run is bound by its {}output{}", in_turn,
                       threads_text(record.encoder_threads, "encoder"));
    break;
  case Bottleneck::none:
    text = "nothing binds the run";
    break;
  }
  text += fmt::format(": {:.0f} % of the time it waited for frames, {:.0f} % it was in filters, {:.0f} % it "
                      "waited for room in the output, or its end",
                      percent(record.input_wait_seconds), percent(record.compute_seconds),
                      percent(record.output_wait_seconds));
  if (record.worker_wait_seconds > 0)
    text += fmt::format(", {:.0f} % for workers that other runs had", percent(record.worker_wait_seconds));
  return text + '\n';
}

void record_work(const image::Executor& executor, const image::KernelLibrary& library, RunRecord& record) {
  if (!record.decisions) record.schedule = executor.in_use();
  record.refused_affinities = executor.refused();
  if (record.refused_affinities.contains(record.schedule.affinity))
    record.schedule.affinity = machine::AffinityArrangement::free;
  record.stand_in_frames = executor.stand_in_frames();
  record.compute_seconds = executor.compute_seconds();
  record.worker_wait_seconds = executor.waited_seconds();
  record.compile_seconds = library.compile_seconds();
  if (const auto error = library.first_error()) record.kernel_error = error->message;
  record.intermediate_bytes = executor.bytes();
  record.stages = executor.stages();
}

}  // namespace millrace::run
