#include "millrace/cluster/plan/partition.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace millrace::cluster {
namespace {

constexpr std::size_t most_nodes = 10;
constexpr std::size_t most_pieces = 25;
constexpr double never = std::numeric_limits<double>::infinity();

// An indivisible piece: from one place to the next.
struct Piece {
  std::size_t first = 0;
  std::size_t stages = 0;
  double seconds = 0;
  double bytes = 0;  // per frame of its output
};

std::vector<Piece> pieces_of(const StreamLoad& stream) {
  std::vector<std::size_t> begins = split_places(stream.stages);
  begins.insert(begins.begin(), 0);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : stream.stages.size();
    Piece piece{.first = begins[i], .stages = end - begins[i], .bytes = stream.stages[end - 1].bytes};
    for (std::size_t stage = begins[i]; stage < end; ++stage)
      piece.seconds += stream.stages[stage].seconds;
    pieces.push_back(piece);
  }
  while (pieces.size() > most_pieces) {
    auto least = pieces.begin();
    for (auto each = pieces.begin(); std::next(each) != pieces.end(); ++each)
      if (each->seconds + std::next(each)->seconds < least->seconds + std::next(least)->seconds) least = each;
    const auto behind = std::next(least);
    least->stages += behind->stages;
    least->seconds += behind->seconds;
    least->bytes = behind->bytes;
    pieces.erase(behind);
  }
  return pieces;
}

// The search for the best split. A state consists of the number of assigned pieces, the nodes used so far,
// and the node of the last section.
class DivisionSearch {
 public:
  DivisionSearch(const StreamLoad& stream, const NodeLoads& nodes)
      : stream_(stream), nodes_(nodes), pieces_(pieces_of(stream)), order_(nodes.speeds.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::ranges::stable_sort(order_, std::greater(), [&](std::size_t node) { return nodes.speeds[node]; });
    order_.resize(std::min(order_.size(), most_nodes));
    done_before_.resize(pieces_.size() + 1);
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      done_before_[i + 1] = done_before_[i] + pieces_[i].seconds;
    states_.resize((pieces_.size() + 1) << order_.size(), std::vector<State>(order_.size()));
  }

  [[nodiscard]] Division best() {
    search();
    std::optional<End> chosen;
    for (const End& end : ends()) {
      const bool asked = stream_.sections > 0;
      // The requested number of sections, or as close to it as possible.
      if (asked && chosen &&
          std::abs(end.nodes - stream_.sections) > std::abs(chosen->nodes - stream_.sections))
        continue;
      const bool nearer = asked && chosen &&
                          std::abs(end.nodes - stream_.sections) < std::abs(chosen->nodes - stream_.sections);
      if (!chosen || nearer || is_better(end, *chosen)) chosen = end;
    }
    return told(*chosen);
  }

 private:
  struct State {
    double period = never;   // of the slowest section or link so far
    std::size_t begin = 0;   // of the last section
    std::size_t before = 0;  // node of the previous section, as an index of order_
  };
  struct End {
    int nodes = 0;
    std::uint32_t used = 0;
    std::size_t last = 0;
    double period = never;
  };

  [[nodiscard]] std::size_t row(std::size_t done, std::uint32_t used) const {
    return (done << order_.size()) + used;
  }

  // Transfer time of a frame in seconds. nodes_.speeds.size() is the place of source and sink.
  [[nodiscard]] double way(std::size_t from, std::size_t to, double bytes) const {
    return nodes_.links.empty() ? 0 : bytes / nodes_.links[from][to];
  }
  [[nodiscard]] std::size_t home() const { return nodes_.speeds.size(); }

  // Time per frame of the section of pieces [begin, end) on a node, or of the transfer to it if that is
  // longer.
  [[nodiscard]] double period_of(std::size_t begin, std::size_t end, std::size_t node,
                                 std::optional<std::size_t> before) const {
    const double computing = (done_before_[end] - done_before_[begin]) / nodes_.speeds[order_[node]];
    const double bytes = begin == 0 ? stream_.source_bytes : pieces_[begin - 1].bytes;
    return std::max(computing, way(before ? order_[*before] : home(), order_[node], bytes));
  }

  void offer(std::size_t end, std::uint32_t used, std::size_t node, const State& state) {
    State& known = states_[row(end, used)][node];
    if (state.period < known.period) known = state;
  }

  void search() {
    const std::size_t count = order_.size();
    for (std::size_t end = 1; end <= pieces_.size(); ++end)
      for (std::size_t node = 0; node < count; ++node)
        offer(end, 1U << node, node, {.period = period_of(0, end, node, std::nullopt)});
    for (std::size_t begin = 1; begin < pieces_.size(); ++begin)
      for (std::uint32_t used = 1; used < (1U << count); ++used)
        for (std::size_t before = 0; before < count; ++before)
          if (const double period = states_[row(begin, used)][before].period; period < never)
            go_on(begin, used, before, period);
  }

  void go_on(std::size_t begin, std::uint32_t used, std::size_t before, double period) {
    for (std::size_t node = 0; node < order_.size(); ++node) {
      if ((used & (1U << node)) != 0) continue;
      for (std::size_t end = begin + 1; end <= pieces_.size(); ++end)
        offer(end, used | (1U << node), node,
              {.period = std::max(period, period_of(begin, end, node, before)),
               .begin = begin,
               .before = before});
    }
  }

  [[nodiscard]] std::vector<End> ends() const {
    std::vector<End> all;
    for (std::uint32_t used = 1; used < (1U << order_.size()); ++used)
      for (std::size_t last = 0; last < order_.size(); ++last)
        if (const double period = states_[row(pieces_.size(), used)][last].period; period < never)
          all.push_back({std::popcount(used), used, last,
                         std::max(period, way(order_[last], home(), pieces_.back().bytes))});
    return all;
  }

  [[nodiscard]] bool is_better(const End& a, const End& b) const {
    const bool has_a = stream_.rate > 0 && a.period * stream_.rate <= 1;
    const bool has_b = stream_.rate > 0 && b.period * stream_.rate <= 1;
    if (has_a != has_b) return has_a;
    if (has_a && a.nodes != b.nodes) return a.nodes < b.nodes;
    return a.period < b.period || (a.period == b.period && a.nodes < b.nodes);
  }

  [[nodiscard]] Division told(const End& end) const {
    Division division{
        .kind = Division::Kind::cut, .sections = {}, .rate = end.period > 0 ? 1 / end.period : never};
    std::size_t done = pieces_.size();
    std::uint32_t used = end.used;
    std::size_t node = end.last;
    while (true) {
      const State& state = states_[row(done, used)][node];
      Section section{.first = pieces_[state.begin].first, .node = order_[node]};
      for (std::size_t piece = state.begin; piece < done; ++piece)
        section.stages += pieces_[piece].stages;
      division.sections.insert(division.sections.begin(), section);
      if (state.begin == 0) return division;
      done = state.begin;
      used &= ~(1U << node);
      node = state.before;
    }
  }

  const StreamLoad& stream_;
  const NodeLoads& nodes_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> order_;   // nodes, fastest first
  std::vector<double> done_before_;  // seconds of all pieces before
  std::vector<std::vector<State>> states_;
};

Division as_chunks(const StreamLoad& stream, const NodeLoads& nodes) {
  Division division{.kind = Division::Kind::chunks, .sections = {}};
  double seconds = 0;
  for (const StageLoad& stage : stream.stages)
    seconds += stage.seconds;
  for (std::size_t node = 0; node < nodes.speeds.size(); ++node) {
    division.sections.push_back({.stages = stream.stages.size(), .node = node});
    division.rate += seconds > 0 ? nodes.speeds[node] / seconds : never;
  }
  return division;
}

}  // namespace

std::vector<std::size_t> split_places(std::span<const StageLoad> stages) {
  std::vector<std::size_t> places;
  // The last readers of the source and of all stages but the one before the place must be before the place.
  std::size_t read_until = 0;  // last stage that reads an output made before the place
  std::vector<std::size_t> last_reader(stages.size() + 1, 0);  // of stage i - 1; 0: the source
  for (std::size_t stage = 0; stage < stages.size(); ++stage)
    for (const int input : stages[stage].inputs)
      last_reader.at(static_cast<std::size_t>(input) + 1) = stage;  // -1 + 1 is 0
  for (std::size_t place = 1; place < stages.size(); ++place) {
    read_until = std::max(read_until, last_reader[place - 1]);
    if (read_until < place) places.push_back(place);
  }
  return places;
}

Division partition(const StreamLoad& stream, const NodeLoads& nodes) {
  return stream.anywhere ? as_chunks(stream, nodes) : DivisionSearch(stream, nodes).best();
}

}  // namespace millrace::cluster
