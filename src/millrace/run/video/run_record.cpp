#include "millrace/run/video/run_record.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::run {
namespace {

double share_of(double seconds, const RunRecord& record) {
  return record.wall_seconds > 0 ? std::min(1.0, seconds / record.wall_seconds) : 0;
}

std::string threads_text(int threads, const char* codec) {
  if (threads == 0) return "";
  return fmt::format(", which has {} {} thread{}", threads, codec, threads == 1 ? "" : "s");
}

}  // namespace

Bottleneck bottleneck_of(const RunRecord& record) {
  constexpr double most = 0.5;
  if (share_of(record.input_wait_seconds, record) > most) return Bottleneck::input;
  // Who waits for workers waits for filters to be computed, if not for its own.
  if (share_of(record.compute_seconds + record.worker_wait_seconds, record) > most)
    return Bottleneck::processing;
  if (share_of(record.output_wait_seconds, record) > most) return Bottleneck::output;
  return Bottleneck::none;
}

std::string describe_bottleneck(const RunRecord& record) {
  const auto percent = [&](double seconds) { return 100 * share_of(seconds, record); };
  if (!(record.wall_seconds > 0)) return "";
  switch (bottleneck_of(record)) {
  case Bottleneck::input:
    return fmt::format("the run is bound by its input{}: {:.0f} % of the time it waited for frames\n",
                       threads_text(record.decoder_threads, "decoder"), percent(record.input_wait_seconds));
  case Bottleneck::processing:
    return fmt::format(
        "the run is bound by its filters: {:.0f} % of the time{}\n", percent(record.compute_seconds),
        record.worker_wait_seconds > 0 ? fmt::format(", and {:.0f} % waiting for workers that other runs had",
                                                     percent(record.worker_wait_seconds))
                                       : "");
  case Bottleneck::output:
    return fmt::format(
        "the run is bound by its output{}: {:.0f} % of the time it waited for room, or the end\n",
        threads_text(record.encoder_threads, "encoder"), percent(record.output_wait_seconds));
  case Bottleneck::none:
    break;
  }
  return fmt::format(
      "nothing binds the run: {:.0f} % waiting for input, {:.0f} % in filters, {:.0f} % waiting for "
      "output\n",
      percent(record.input_wait_seconds), percent(record.compute_seconds),
      percent(record.output_wait_seconds));
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
