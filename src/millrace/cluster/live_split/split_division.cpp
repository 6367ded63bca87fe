#include "millrace/cluster/live_split/split_division.h"

#include "millrace/video/y4m/y4m_frame.h"

#include <numeric>
#include <ranges>
#include <utility>

namespace millrace::cluster {
namespace {

constexpr double rate_to_spare = 1.1;  // a node that can only just keep the rate falls behind

double bytes_of(const video::FrameFormat& format) {
  return static_cast<double>(video::y4m_frame_bytes(format));
}

// In units of the first node.
Division best_division(const SplitWish& wish, const std::vector<PipelineSection>& pieces,
                       std::span<const std::vector<double>> seconds) {
  StreamLoad stream{
      .source_bytes = bytes_of(wish.input), .rate = wish.rate * rate_to_spare, .sections = wish.sections};
  for (std::size_t i = 0; i < pieces.size(); ++i)
    stream.stages.push_back({.seconds = seconds.front()[i],
                             .bytes = bytes_of(pieces[i].output),
                             .inputs = {static_cast<int>(i) - 1}});
  const auto total = [](const std::vector<double>& of_pieces) {
    return std::accumulate(of_pieces.begin(), of_pieces.end(), 0.0);
  };
  NodeLoads nodes;
  for (const std::vector<double>& each : seconds)
    nodes.speeds.push_back(total(seconds.front()) / total(each));
  nodes.links.assign(seconds.size() + 1, std::vector<double>(seconds.size() + 1, wish.link_bytes));
  return partition(stream, nodes);
}

}  // namespace

Result<SplitPieces> pieces_of(const SplitWish& wish) {
  SplitPieces pieces{.begins = section_places(wish.pipeline), .pieces = {}};
  auto sections = take_apart(wish.pipeline, pieces.begins, wish.input, wish.planes);
  if (!sections) return std::unexpected(sections.error());
  pieces.begins.insert(pieces.begins.begin(), 0);
  pieces.pieces = *std::move(sections);
  return pieces;
}

Result<DividedPipeline> divide(const SplitWish& wish, const SplitPieces& pieces,
                               std::span<const std::vector<double>> seconds) {
  const Division division = best_division(wish, pieces.pieces, seconds);
  std::vector<std::size_t> begins;
  for (const Section& section : division.sections)
    begins.push_back(pieces.begins[section.first]);
  auto sections = take_apart(wish.pipeline, {begins.begin() + 1, begins.end()}, wish.input, wish.planes);
  if (!sections) return std::unexpected(sections.error());
  DividedPipeline divided{.rate = division.rate};
  for (std::size_t i = 0; i < sections->size(); ++i) {
    const Section& of = division.sections[i];
    const auto measured = std::span(seconds[of.node]).subspan(of.first, of.stages);
    divided.sections.push_back({.section = std::move((*sections)[i]),
                                .first = begins[i],
                                .end = i + 1 < begins.size() ? begins[i + 1] : wish.pipeline.nodes.size(),
                                .node = of.node,
                                .seconds = std::accumulate(measured.begin(), measured.end(), 0.0)});
  }
  std::int64_t beyond = 0;
  for (DividedSection& each : divided.sections | std::views::reverse)
    each.beyond = beyond += each.section.neighbours.before + each.section.neighbours.after;
  return divided;
}

}  // namespace millrace::cluster
