#include "millrace/run/options/run_options.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/image/layout/default_schedule.h"
#include "millrace/run/options/check_threads.h"
#include "millrace/video/frame/clip_time.h"
#include "millrace/video/sample_format.h"
#include "millrace/video/writer.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace millrace::run {

Result<image::Schedule> schedule_of(const RunOptions& options, const WorkerLimit& limit) {
  machine::Isa isa = machine::best_isa();
  if (!options.isa.empty()) {
    const auto named = machine::parse_isa(options.isa);
    if (!named) return std::unexpected(named.error());
    if (!machine::can_run(*named)) {
      return usage_error("this processor cannot run {}; {} is its best", options.isa, machine::name_of(isa));
    }
    isa = *named;
  }
  if (Status allowed = check_threads(options.threads, limit.workers()); !allowed)
    return std::unexpected(allowed.error());
  auto affinity = machine::AffinityArrangement::free;
  if (!options.affinity.empty()) {
    const auto named = machine::parse_affinity_arrangement(options.affinity);
    if (!named) return std::unexpected(named.error());
    affinity = *named;
  }
  image::Schedule schedule =
      image::default_schedule(options.threads > 0 ? options.threads : limit.under(affinity), isa);
  schedule.affinity = affinity;
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
    schedule.tile.width = 0;  // a sliding window uses whole rows
  }
  schedule.frames_in_flight = std::max(1, options.frames_in_flight);
  schedule.fresh_threads = options.fresh_threads;
  return schedule;
}

bool is_adaptive(const RunOptions& options) {
  return options.structure.empty() && options.tile.empty() && !options.fresh_threads && !options.measure &&
         !options.count;
}

namespace {

Result<tuning::Objective> objective_of(const RunOptions& options) {
  if (options.deadline_ms) {
    if (!options.objective.empty() && options.objective != "deadline")
      return usage_error("--deadline is an objective of its own; leave out --objective {}",
                         options.objective);
    return tuning::Objective{.aim = tuning::Aim::deadline, .deadline = *options.deadline_ms * 1e-3};
  }
  // Readers and writers of pipes wait for each frame.
  const bool piped = options.input == "-" || options.second == "-" || options.output == "-";
  if (options.objective == "latency" || (options.objective.empty() && piped))
    return tuning::Objective{.aim = tuning::Aim::latency};
  if (options.objective.empty() || options.objective == "throughput") return tuning::Objective{};
  if (options.objective == "deadline") return usage_error("give the deadline itself: --deadline MS");
  return usage_error("unknown objective '{}'; use throughput or latency, or give --deadline MS",
                     options.objective);
}

Result<image::AdaptiveOptions> adaptive_options_of(const RunOptions& options, const WorkerLimit& limit) {
  // The given options mean the same as in a fixed schedule.
  const auto fixed = schedule_of(options, limit);
  if (!fixed) return std::unexpected(fixed.error());
  const auto objective = objective_of(options);
  if (!objective) return std::unexpected(objective.error());
  if (options.frames_in_flight > fixed->threads)
    return usage_error("--frames-in-flight {} needs as many threads, and {} may be used; give {} or less",
                       options.frames_in_flight, fixed->threads, fixed->threads);

  image::ScheduleFreedom freedom{.max_threads = fixed->threads, .isas = {fixed->isa}};
  if (options.isa.empty()) {
    // On some processors, narrower vectors gather faster.
    for (machine::Isa isa : machine::all_isas()) {
      if (isa > machine::Isa::baseline && isa < fixed->isa)
        freedom.isas.insert(freedom.isas.begin() + 1, isa);
    }
  }
  if (!options.affinity.empty()) freedom.affinities = {{fixed->affinity}};
  if (!options.fusion.empty()) freedom.fusion = fixed->fusion;
  if (options.threads > 0) freedom.threads = options.threads;
  if (options.frames_in_flight > 0) freedom.frames_in_flight = options.frames_in_flight;
  return image::AdaptiveOptions{
      .objective = *objective, .freedom = std::move(freedom), .seed = options.seed, .profile = std::nullopt};
}

// The given options, which are part of a profile's key.
std::map<std::string, std::string> fixed_words(const RunOptions& options) {
  std::map<std::string, std::string> words;
  for (const auto& [name, word] :
       {std::pair{"fusion", options.fusion}, {"affinity", options.affinity}, {"isa", options.isa}}) {
    if (!word.empty()) words.emplace(name, word);
  }
  if (options.frames_in_flight > 0)
    words.emplace("frames in flight", fmt::format("{}", options.frames_in_flight));
  return words;
}

Result<SearchOptions> search_options_of(const RunOptions& options, const WorkerLimit& limit) {
  auto adaptive = adaptive_options_of(options, limit);
  if (!adaptive) return std::unexpected(adaptive.error());
  SearchOptions search{
      .adaptive = std::move(*adaptive), .may_bind = options.affinity.empty(), .fixed = fixed_words(options)};
  if (!options.no_profile) {
    if (auto path = tuning::default_profile_path()) search.profiles = std::move(*path);
    if (!options.shared.empty())
      search.shared_profiles = std::filesystem::absolute(options.shared) / "profiles";
  }
  return search;
}

}  // namespace

Result<image::KernelCache> kernel_cache_of(const RunOptions& options) {
  if (options.no_profile) return image::KernelCache();
  image::KernelCache cache(image::default_kernel_cache_folder());
  if (options.shared.empty()) return cache;
  std::error_code made;
  std::filesystem::create_directories(options.shared, made);
  if (made || !std::filesystem::is_directory(options.shared, made))
    return usage_error("--shared {}: cannot be made ({}); give a folder that all machines of the job see",
                       options.shared, made ? made.message() : "it is a file");
  const std::filesystem::path shared = std::filesystem::absolute(options.shared);
  cache.share(image::KernelCache(shared / "kernels", image::program_identity(),
                                 image::KernelCache::default_most_bytes, shared));
  return cache;
}

Result<image::Planes> planes_of(const RunOptions& options) {
  if (!options.planes.empty()) return image::parse_planes(options.planes);
  return options.measure || options.count ? image::Planes::all : image::Planes::automatic;
}

Result<video::OnDamage> on_damage_of(const RunOptions& options) {
  if (options.on_damage == "stop") return video::OnDamage::stop;
  if (options.on_damage == "skip") return video::OnDamage::skip;
  return usage_error("unknown --on-damage '{}'; use stop or skip", options.on_damage);
}

Result<std::int64_t> parse_bitrate(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number<double>(text.substr(0, digits));
  const std::string unit = text.substr(digits);
  const double factor = unit.empty() ? 1 : unit == "k" || unit == "K" ? 1e3 : unit == "M" ? 1e6 : 0;
  if (!number || !(*number * factor >= 1) || *number * factor > 1e12)
    return usage_error("--bitrate {} is not a number of bits per second; write 800k or 5M", in_quotes(text));
  return static_cast<std::int64_t>(*number * factor);
}

Result<std::vector<std::pair<std::string, std::string>>> parse_encoder_options(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> options;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, to - from);
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      return usage_error("--encoder-options {} is not a list of name=value; write bf=2,g=50, for example",
                         in_quotes(word));
    options.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    from = to + 1;
  }
  return options;
}

namespace {

Result<video::WriterOptions> writer_options_of(const RunOptions& options) {
  video::WriterOptions writer{
      .overwrite = overwrite_if(options.force), .crf = options.crf, .preset = options.preset};
  if (!options.codec.empty()) {
    const auto codec = video::parse_codec(options.codec);
    if (!codec) return std::unexpected(codec.error());
    writer.codec = *codec;
  }
  if (!options.bitrate.empty()) {
    const auto bitrate = parse_bitrate(options.bitrate);
    if (!bitrate) return std::unexpected(bitrate.error());
    writer.bitrate = *bitrate;
  }
  for (const std::string& words : options.encoder_options) {
    const auto read = parse_encoder_options(words);
    if (!read) return std::unexpected(read.error());
    writer.encoder_options.insert(writer.encoder_options.end(), read->begin(), read->end());
  }
  return writer;
}

Status check_second(const RunOptions& options, const image::Pipeline& pipeline) {
  if (options.second.empty()) {
    if (!image::reads_second(pipeline)) return {};
    return usage_error("the pipeline reads a second video ('second'); `millrace run PIPELINE FIRST SECOND` "
                       "takes two");
  }
  if (!image::reads_second(pipeline))
    return usage_error("the pipeline does not read the second video, {}; leave it out, or name it, as in "
                       "'[input, second] | blend(average)'",
                       in_quotes(options.second));
  if (options.input == "-" && options.second == "-")
    return usage_error("standard input cannot be both videos; give one of them as a file");
  if (options.loop > 1 || !options.start.empty())
    return usage_error("a second video begins with the first one and is read once; leave out {}",
                       options.loop > 1 ? "--loop" : "--start");
  return {};
}

Status choose_part(const RunOptions& options, VideoRunOptions& run) {
  for (const auto& [name, text, time] :
       {std::tuple{"--start", &options.start, &run.start}, {"--end", &options.end, &run.end}}) {
    if (text->empty()) continue;
    const auto parsed = video::parse_clip_time(*text, name);
    if (!parsed) return std::unexpected(parsed.error());
    *time = *parsed;
  }
  if (run.end && *run.end <= run.start.value_or(0))
    return usage_error("--end {} is not later than --start {}", options.end,
                       options.start.empty() ? "0" : options.start);
  return {};
}

Status choose_samples(const RunOptions& options, VideoRunOptions& run) {
  if (options.format.empty()) return {};
  const auto format = video::parse_sample_format(options.format);
  if (!format) return std::unexpected(format.error());
  run.samples = format->samples;
  if (!format->planar) run.writer.pixel_format = format->pixel_format;
  return {};
}

}  // namespace

Result<VideoRunOptions> video_run_options_of(const RunOptions& options, const image::Pipeline& pipeline,
                                             const WorkerLimit& limit) {
  if (Status second = check_second(options, pipeline); !second) return std::unexpected(second.error());
  if (options.loop > 1 && options.input == "-") return usage_error("--loop cannot read standard input twice");
  auto writer = writer_options_of(options);
  if (!writer) return std::unexpected(writer.error());
  const auto on_damage = on_damage_of(options);
  if (!on_damage) return std::unexpected(on_damage.error());
  VideoRunOptions run{.pipeline = pipeline,
                      .second =
                          options.second.empty() ? std::nullopt : std::optional(file_source(options.second)),
                      .changes = options.changes,
                      .frames = options.frames,
                      .passes = options.loop,
                      .on_damage = *on_damage,
                      .autorotate = !options.no_autorotate,
                      .treat_as_progressive = options.treat_as_progressive,
                      .audio = !options.no_audio,
                      .decoder_threads = options.decoder_threads,
                      .encoder_threads = options.encoder_threads,
                      .writer = std::move(*writer)};
  if (Status part = choose_part(options, run); !part) return std::unexpected(part.error());
  if (Status samples = choose_samples(options, run); !samples) return std::unexpected(samples.error());
  if (is_adaptive(options)) {
    auto search = search_options_of(options, limit);
    if (!search) return std::unexpected(search.error());
    run.schedule = std::move(*search);
  } else {
    if (!options.objective.empty() || options.deadline_ms)
      return usage_error("{} is what a search for the best schedule goes by, and {} fixes it; leave one out",
                         options.objective.empty() ? "--deadline" : "--objective",
                         !options.structure.empty() ? "--structure"
                         : !options.tile.empty()    ? "--tile"
                                                    : "--fresh-threads");
    const auto schedule = schedule_of(options, limit);
    if (!schedule) return std::unexpected(schedule.error());
    run.schedule = *schedule;
  }
  return run;
}

}  // namespace millrace::run
