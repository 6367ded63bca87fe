// ferret on the HP Superdome: the paper's measurements (see paper_models.h), and service times derived from
// them.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::model {

inline constexpr std::int64_t ferret_items = 59'695;
inline constexpr double ferret_sequential_seconds = 437;

enum class FerretVariant {
  own_cores,  // table 1, left: 6 stages, c threads in each of the four parallel ones, a core for each thread
  oversubscribed,  // table 1, right: the same threads on c cores
  stealing_6,      // table 2: TBB, 6 stages, 5 tokens per thread
  stealing_3,      // table 2: TBB, the parallel stages collapsed
};
[[nodiscard]] std::string_view to_string(FerretVariant variant);

// One measured time of tables 1 and 2.
struct FerretEntry {
  FerretVariant variant;
  int threads;      // per parallel stage; for stealing, in total
  double seconds;   // as measured
  bool calibrates;  // a constant below was derived from it
};
[[nodiscard]] std::span<const FerretEntry> ferret_entries();

// Sources of the constants:
//
//   rank: 370.6 s with one thread per stage, the time of the slowest stage (table 1, 6/6).
//
//   load: 34.5 s, between the two values for which the paper's case 1 gives its sizing results (section 3.4).
//   With 6 stages and 21 items per queue, N / 2 servers of `rank` are as fast as load: 370.6 / 10.5 = 35.3 s.
//   With 3 stages and 24 items: 437 / 13 = 33.6 s. No entry of the tables was used.
//
//   slowdown of everything but load: 0.7 % for every further busy core, from 438.4 to 447.2 s of core time
//   from 1 to 4 cores (table 1, right), where nothing else is limiting. load waits for its device and is
//   assumed to be unaffected.
//
//   The rest of 437 s is divided 3 : 1 : 6 among seg, extract and vec, with 0.6 s for out. The paper shows
//   these shares only in a figure. Another division changes no prediction by more than 1 %, because none of
//   these stages is the bottleneck.
//
//   Service times are exponential, as the paper assumes.
//
// Oversubscribed pools are simulated with sticky threads (CoreSharing). This was chosen after seeing the
// entries of 8 and 16 cores, which an ideal scheduler misses by 17 and 27 %. It has no constant to fit.
struct FerretTimes {
  double load = 34.5;  // seconds of the whole run on one core
  double rank = 370.6;
  double out = 0.6;
  std::array<double, 3> division{0.3, 0.1, 0.6};  // of the rest: seg, extract, vec
  double slowdown = 0.007;
};
[[nodiscard]] Pipeline ferret_pipeline(const FerretTimes& times = {});
// With the four parallel stages as one.
[[nodiscard]] Pipeline ferret_collapsed(const FerretTimes& times = {});

struct FerretPrediction {
  FerretEntry entry;
  std::optional<double> paper_model;  // seconds by case 1 or 3; the paper has no model of oversubscription
  double formulas = 0;
  double simulation = 0;
  // Oversubscribed: with an ideal scheduler instead of a sticky one.
  std::optional<double> simulation_balanced;
};

// Predicts every entry as the mean of `runs` simulations.
[[nodiscard]] Result<std::vector<FerretPrediction>> predict_ferret(const FerretTimes& times = {},
                                                                   int runs = 3);

// The sizing results of section 3.4.
struct SizingResult {
  std::string_view what;
  int paper;
  int model;  // by the paper's formulas with the times above
};
[[nodiscard]] std::vector<SizingResult> paper_sizing(const FerretTimes& times = {});

}  // namespace millrace::model
