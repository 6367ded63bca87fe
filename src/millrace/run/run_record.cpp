#include "millrace/run/run_record.h"

namespace millrace::run {

void record_work(const image::Executor& executor, const image::KernelLibrary& library, RunRecord& record) {
  if (record.decisions.is_null()) record.schedule = executor.in_use();
  record.refused_affinities = executor.refused();
  if (record.refused_affinities.contains(record.schedule.affinity))
    record.schedule.affinity = machine::AffinityArrangement::free;
  record.stand_in_frames = executor.stand_in_frames();
  record.compute_seconds = executor.compute_seconds();
  record.compile_seconds = library.compile_seconds();
  if (const auto error = library.first_error()) record.kernel_error = error->message;
  record.intermediate_bytes = executor.bytes();
  record.stages = executor.stages();
}

}  // namespace millrace::run
