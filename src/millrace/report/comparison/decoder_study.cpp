#include "millrace/report/comparison/decoder_study.h"

#include "millrace/base/numbers/median.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

constexpr std::array decoder_studies{DecoderStudy::table3, DecoderStudy::table5};

constexpr std::array streams_of_paper{DecoderStream{1, 1280, 720, 300}, DecoderStream{2, 1280, 720, 300},
                                      DecoderStream{3, 1280, 720, 300}, DecoderStream{4, 720, 480, 300},
                                      DecoderStream{5, 720, 480, 300},  DecoderStream{6, 720, 480, 300},
                                      DecoderStream{7, 720, 480, 230},  DecoderStream{8, 352, 288, 300},
                                      DecoderStream{9, 352, 288, 260},  DecoderStream{10, 352, 288, 150}};

constexpr std::array pairs_of_table3{BindingPair{Binding::none, Binding::plus_main},
                                     BindingPair{Binding::plus_one_to_one, Binding::plus_main},
                                     BindingPair{Binding::none, Binding::plus_one_to_one}};
constexpr std::array pairs_of_table5{
    BindingPair{Binding::none, Binding::own_main}, BindingPair{Binding::own_one_to_one, Binding::own_main},
    BindingPair{Binding::none, Binding::own_one_to_one}, BindingPair{Binding::own_main, Binding::plus_main},
    BindingPair{Binding::own_one_to_one, Binding::plus_one_to_one}};

// The paper's figures for its H.264 decoder, by stream number, in the order of the pairs.
using StatedGains = std::array<double, 5>;  // table III has three
constexpr std::array<StatedGains, 10> stated_in_table3{{{12.9, 0.4, 12.5},
                                                        {14.4, 0.2, 14.2},
                                                        {20.1, 0.3, 19.7},
                                                        {12.0, 0.3, 11.6},
                                                        {15.9, 0.6, 15.2},
                                                        {12.9, 0.1, 12.9},
                                                        {13.3, 0.4, 12.9},
                                                        {10.2, 0.1, 10.2},
                                                        {11.5, 0.1, 11.4},
                                                        {13.4, 0.1, 13.3}}};
constexpr std::array<StatedGains, 10> stated_in_table5{{{12.9, 0.7, 12.1, 0.1, 0.4},
                                                        {14.4, 0.5, 13.7, 0.1, 0.3},
                                                        {19.9, 0.1, 19.0, 0.7, 0.6},
                                                        {11.3, 0.2, 11.1, 0.6, 0.4},
                                                        {15.1, 0.3, 14.7, 0.7, 0.5},
                                                        {12.8, 0.1, 12.6, 0.2, 0.2},
                                                        {13.0, 0.4, 12.6, 0.2, 0.2},
                                                        {10.0, 0.1, 10.0, 0.2, 0.4},
                                                        {11.2, 0.1, 11.1, 0.3, 0.3},
                                                        {13.0, 0.1, 12.8, 0.4, 0.2}}};

Result<std::vector<double>> times_of(const DecoderObservations& observed, const DecoderSetting& setting) {
  const auto found = observed.ms.find(setting);
  if (found == observed.ms.end() || found->second.empty())
    return failure("stream {} by {} with {} was not measured", setting.stream, name_of(setting.decoder),
                   name_of(setting.binding));
  return found->second;
}

// A frame: the serial work of main, and a slice for each thread.
Result<model::ForkJoinWork> frame_of(const DecoderObservations& observed, const DecoderStream& stream,
                                     Decoder decoder) {
  const auto alone = observed.alone_ms.find({stream.number, decoder});
  if (alone == observed.alone_ms.end() || !(alone->second > 0))
    return failure("stream {} by {} was not measured with one thread", stream.number, name_of(decoder));
  const auto together = times_of(observed, {stream.number, decoder, Binding::none});
  if (!together) return std::unexpected(together.error());
  const double serial =
      serial_part_ms(alone->second, median(*together), std::min(observed.cpus, observed.threads));
  const auto threads = static_cast<std::size_t>(observed.threads);
  return model::ForkJoinWork{
      .serial_ms = serial / stream.frames,
      .birth_ms = observed.costs.birth_ms,
      .thread_ms = std::vector<double>(threads, (alone->second - serial) / stream.frames / observed.threads)};
}

// The table's rows and a plot for each decoder, filled together.
class Gains {
 public:
  Gains(const DecoderObservations& observed, std::span<const BindingPair> pairs,
        const std::array<StatedGains, 10>& stated)
      : observed_(observed), pairs_(pairs), stated_(stated), simulates_(observed.cpus > 1) {
    for (const Origin origin : {Origin::paper, Origin::measured, Origin::simulated})
      for (const BindingPair& pair : pairs)
        if (origin == Origin::measured || (origin == Origin::simulated ? simulates_ : states()))
          table_.columns.push_back({name_of(pair), origin, "%"});
    if (simulates_) table_.columns.push_back({std::string(gain_today_name), Origin::simulated, "%"});
    table_.columns.push_back({"NoB, median", Origin::measured, "ms"});
    table_.columns.push_back({"one thread, median", Origin::measured, "ms"});
    for (const Decoder decoder : observed.decoders) {
      BarPlot& plot = plots_[decoder];
      plot = {.title = fmt::format("{}, {}", name_of(pairs.front()), name_of(decoder)),
              .y_label = "% faster",
              .reference = 0};
      plot.series = {{"the paper's streams", {}}, {"measured here", {}}};
      if (simulates_) plot.series.push_back({"simulated quad core", {}});
    }
  }

  Status add(const DecoderStream& stream, Decoder decoder) {
    ComparisonRow row{.keys = {std::to_string(stream.number),
                               fmt::format("{}x{}", stream.width, stream.height),
                               std::to_string(stream.frames), std::string(name_of(decoder))}};
    const std::optional<PlotValue> first_stated = add_stated(stream, decoder, row);
    for (const BindingPair& pair : pairs_) {
      const auto slow = times_of(observed_, {stream.number, decoder, pair.slow});
      if (!slow) return std::unexpected(slow.error());
      const auto fast = times_of(observed_, {stream.number, decoder, pair.fast});
      if (!fast) return std::unexpected(fast.error());
      const auto gain = measured_gain(*slow, *fast);
      if (!gain) return std::unexpected(gain.error());
      if (&pair == pairs_.data()) {
        plots_[decoder].series[1].bars.push_back(*gain);
        clear_ += gain->low > 0 ? 1 : 0;
      }
      row.values.push_back(*gain);
    }
    if (simulates_)
      if (Status simulated = add_simulated(stream, decoder, row); !simulated) return simulated;
    const auto none = times_of(observed_, {stream.number, decoder, Binding::none});
    if (!none) return std::unexpected(none.error());
    const auto alone = observed_.alone_ms.find({stream.number, decoder});
    if (alone == observed_.alone_ms.end()) return failure("stream {} was not measured alone", stream.number);
    for (const double ms : {median(*none), alone->second})
      row.values.push_back(PlotValue{ms, ms, ms});
    plots_[decoder].groups.push_back(std::to_string(stream.number));
    plots_[decoder].series[0].bars.push_back(first_stated);
    table_.rows.push_back(std::move(row));
    return {};
  }

  Comparison into(Comparison result) {
    const auto [least, most] = of_paper();
    result.findings.push_back(
        fmt::format("{} gains beyond doubt in {} of {} rows; in the paper it is {:.1f} to {:.1f} % in all.",
                    name_of(pairs_.front()), clear_, table_.rows.size(), least, most));
    if (simulates_ && !table_.rows.empty())
      result.findings.push_back(fmt::format(
          "On the simulated quad core the gain is {}, {}, where the kernel leaves woken threads with main, "
          "and {} at most where it looks for an idle core whenever one is woken.",
          percent_text(least_, most_), beside_the_paper(), percent_text(most_today_, most_today_)));
    for (auto& [decoder, plot] : plots_)
      result.plots.emplace_back(std::move(plot));
    result.tables.push_back(std::move(table_));
    return result;
  }

 private:
  // The least and the greatest gain of the paper's first pair.
  [[nodiscard]] std::pair<double, double> of_paper() const {
    const auto [least, most] =
        std::ranges::minmax(stated_, {}, [](const StatedGains& gains) { return gains.front(); });
    return {least.front(), most.front()};
  }

  [[nodiscard]] std::string_view beside_the_paper() const {
    const auto [least_of_paper, most_of_paper] = of_paper();
    if (least_ > most_of_paper)
      return "more than in the paper, whose decoder had only its deblocking in threads, where here whole "
             "slices or tiles are";
    if (most_ < least_of_paper) return "less than in the paper, as main does more of a frame alone";
    return "some of it as in the paper";
  }

  // Whether any row has figures from the paper, which are for H.264.
  [[nodiscard]] bool states() const {
    return std::ranges::find(observed_.decoders, Decoder::ffmpeg) != observed_.decoders.end();
  }

  std::optional<PlotValue> add_stated(const DecoderStream& stream, Decoder decoder,
                                      ComparisonRow& row) const {
    if (!states()) return std::nullopt;
    const StatedGains& values = stated_[static_cast<std::size_t>(stream.number - 1)];
    std::optional<PlotValue> first;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      std::optional<PlotValue> cell;
      if (decoder == Decoder::ffmpeg) cell = PlotValue{values[i], values[i], values[i]};
      if (i == 0) first = cell;
      row.values.push_back(cell);
    }
    return first;
  }

  Status add_simulated(const DecoderStream& stream, Decoder decoder, ComparisonRow& row) {
    const auto frame = frame_of(observed_, stream, decoder);
    if (!frame) return std::unexpected(frame.error());
    for (const BindingPair& pair : pairs_) {
      const PlotValue gain = quad_core_gain(pair, *frame, stream.frames, observed_.costs);
      row.values.push_back(gain);
      if (&pair != pairs_.data()) continue;
      plots_[decoder].series[2].bars.push_back(gain);
      least_ = table_.rows.empty() ? gain.mean : std::min(least_, gain.mean);
      most_ = table_.rows.empty() ? gain.mean : std::max(most_, gain.mean);
    }
    const PlotValue today = quad_core_gain_today(*frame, stream.frames, observed_.costs);
    most_today_ = table_.rows.empty() ? today.mean : std::max(most_today_, today.mean);
    row.values.push_back(today);
    return {};
  }

  const DecoderObservations& observed_;
  std::span<const BindingPair> pairs_;
  const std::array<StatedGains, 10>& stated_;
  bool simulates_;
  ComparisonTable table_{.caption =
                             "Speed-up in per cent: (time of the first / time of the second - 1) * 100. What "
                             "the paper states is of its own streams of that size and length",
                         .keys = {"no.", "size", "frames", "decoder"}};
  std::map<Decoder, BarPlot> plots_;
  int clear_ = 0;
  double least_ = 0;
  double most_ = 0;
  double most_today_ = 0;
};

std::string about_decoders(const DecoderObservations& observed) {
  std::string text = fmt::format(
      "{}Streams of the paper's sizes and lengths, made by ffmpeg from {}: H.264 (baseline, 4 slices a "
      "frame), decoded by "
      "ffmpeg -threads {} -thread_type slice, and AV1 (4 tiles), decoded by dav1d --threads {} --framedelay "
      "1, on {} "
      "CPUs. A time is the decoder's own, from its first frame to its last. All take turns, execution by "
      "execution: the "
      "kernel alone (NoB); threads bound by libmillrace_dispatch from another process once they are seen, as "
      "the decoders "
      "are not changed (1-1, M-L); and by millrace exec --policy at their birth (1-1+, M-L+).",
      observed.generated
          ? "NO CLIP WAS GIVEN: the streams show test pictures, which are easier to decode than films. "
          : "",
      observed.source, observed.threads, observed.threads, observed.cpus);
  if (observed.cpus > 1)
    text +=
        " " + about_quad_core(observed.costs) +
        fmt::format(
            " What main does alone of a frame follows by Amdahl's law from the times of one thread and of {} "
            "on {} CPUs; threads are woken anew in each frame.",
            observed.threads, std::min(observed.cpus, observed.threads));
  return text;
}

}  // namespace

std::string_view name_of(DecoderStudy study) {
  return study == DecoderStudy::table3 ? "dispatch-table3" : "dispatch-table5";
}

std::string_view title_of(DecoderStudy study) {
  return study == DecoderStudy::table3
             ? "Table III: video decoders, their threads bound from outside at birth"
             : "Table V: video decoders, their threads bound by calls and at birth";
}

std::span<const DecoderStudy> all_decoder_studies() { return decoder_studies; }

std::string_view name_of(Decoder decoder) { return decoder == Decoder::ffmpeg ? "ffmpeg" : "dav1d"; }

std::span<const DecoderStream> paper_streams() { return streams_of_paper; }

std::vector<Binding> decoder_bindings(std::span<const DecoderStudy> studies) {
  std::set<Binding> bindings;
  for (const DecoderStudy study : studies) {
    const std::span<const BindingPair> pairs =
        study == DecoderStudy::table3 ? std::span<const BindingPair>(pairs_of_table3) : pairs_of_table5;
    for (const BindingPair& pair : pairs)
      bindings.insert({pair.slow, pair.fast});
  }
  return {bindings.begin(), bindings.end()};
}

double serial_part_ms(double alone_ms, double together_ms, int cpus) {
  const double serial = (cpus * together_ms - alone_ms) / (cpus - 1);
  return std::clamp(serial, 0.0, alone_ms);
}

Result<Comparison> compare(DecoderStudy study, const DecoderObservations& observed) {
  Comparison result{.name = std::string(name_of(study)),
                    .title = std::string(title_of(study)),
                    .about = about_decoders(observed)};
  result.paper =
      study == DecoderStudy::table3
          ? "An optimised H.264 decoder that deblocks in four threads, on four cores of 2008, with 500 "
            "executions: M-L+ "
            "is 10.2 to 20.1 % faster than the kernel's own placement, and up to 0.6 % faster than 1-1+."
          : "Bound by calls in the decoder it gains nearly as much: 10.0 to 19.9 %; binding at birth adds "
            "0.1 to 0.7 %.";
  if (observed.generated)
    result.findings.emplace_back("NO CLIP WAS GIVEN: the streams show test pictures. Give films by --clips "
                                 "for figures that mean something.");
  for (const auto& [decoder, why] : observed.missing)
    result.findings.push_back(fmt::format("Without {}: {}.", name_of(decoder), why));
  Gains gains(observed,
              study == DecoderStudy::table3 ? std::span<const BindingPair>(pairs_of_table3) : pairs_of_table5,
              study == DecoderStudy::table3 ? stated_in_table3 : stated_in_table5);
  for (const DecoderStream& stream : observed.streams)
    for (const Decoder decoder : observed.decoders)
      if (Status added = gains.add(stream, decoder); !added) return std::unexpected(added.error());
  return gains.into(std::move(result));
}

}  // namespace millrace::report
