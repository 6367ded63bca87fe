#include "millrace/cli/run_options.h"

#include "millrace/image/default_schedule.h"

namespace millrace::cli {

Result<image::Schedule> schedule_of(const RunOptions& options, int worker_limit) {
  machine::Isa isa = machine::best_isa();
  if (!options.isa.empty()) {
    const auto named = machine::parse_isa(options.isa);
    if (!named) return std::unexpected(named.error());
    if (!machine::can_run(*named)) {
      return usage_error("this processor cannot run {}; {} is its best", options.isa, machine::name_of(isa));
    }
    isa = *named;
  }
  if (options.threads > worker_limit) {
    return usage_error("--threads {} is more than the {} that affinity mask, cpuset and quota allow here "
                       "(millrace machine shows why)",
                       options.threads, worker_limit);
  }
  image::Schedule schedule =
      image::default_schedule(options.threads > 0 ? options.threads : worker_limit, isa);
  if (!options.structure.empty()) {
    const auto structure = image::parse_structure(options.structure);
    if (!structure) return std::unexpected(structure.error());
    schedule.structure = *structure;
  }
  if (!options.fusion.empty()) {
    const auto fusion = image::parse_fusion(options.fusion);
    if (!fusion) return std::unexpected(fusion.error());
    schedule.fusion = *fusion;
  }
  if (!options.tile.empty()) {
    const auto tile = image::parse_tile(options.tile);
    if (!tile) return std::unexpected(tile.error());
    schedule.tile = *tile;
  } else if (schedule.structure == image::Structure::sliding) {
    schedule.tile.width = 0;  // whole rows are what a sliding window is for
  }
  const auto affinity = machine::parse_affinity_arrangement(options.affinity);
  if (!affinity) return std::unexpected(affinity.error());
  schedule.affinity = *affinity;
  schedule.frames_in_flight = options.frames_in_flight;
  schedule.fresh_threads = options.fresh_threads;
  return schedule;
}

Result<image::Planes> planes_of(const RunOptions& options) {
  if (options.planes == "all") return image::Planes::all;
  if (options.planes == "luma") return image::Planes::luma;
  return usage_error("unknown planes '{}'; use all or luma", options.planes);
}

Result<video::WriterOptions> writer_options_of(const RunOptions& options) {
  video::WriterOptions writer{.crf = options.crf};
  writer.encoder_threads = options.encoder_threads;
  if (options.codec == "h264")
    writer.codec = video::VideoCodec::h264;
  else if (options.codec == "ffv1")
    writer.codec = video::VideoCodec::ffv1;
  else if (!options.codec.empty())
    return usage_error("unknown codec '{}'; use h264 or ffv1", options.codec);
  return writer;
}

}  // namespace millrace::cli
