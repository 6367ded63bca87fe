#include "dedup/chunks/deduplicator.h"

#include "dedup/chunks/gear_hash.h"

#include <algorithm>
#include <utility>

namespace millrace::dedup {
namespace {

// Shorter matches are left to the compressor, which finds close ones itself.
constexpr std::uint32_t least_match = 64;
// Prefetch distances, in marks.
constexpr std::ptrdiff_t marks_ahead = 12;
constexpr std::ptrdiff_t marks_soon = 5;

}  // namespace

CutFragment cut(Fragment fragment, const ChunkCutter& cutter) {
  std::vector<Mark> marks = gear_marks(fragment.bytes);
  std::vector<Chunk> chunks;
  const std::vector<std::size_t> ends = cutter.ends(marks, fragment.bytes.size());
  chunks.reserve(ends.size());
  for (const std::size_t end : ends)
    chunks.push_back({.end = end});
  return {std::move(fragment), std::move(chunks), std::move(marks)};
}

Status digest(CutFragment& fragment, const ChunkDigest::Key& key) {
  Result<ChunkDigest> digest = ChunkDigest::create(key);
  if (!digest) return std::unexpected(digest.error());
  std::size_t begin = 0;
  for (Chunk& chunk : fragment.chunks) {
    chunk.digest = digest->of(fragment.fragment.bytes.subspan(begin, chunk.end - begin));
    begin = chunk.end;
  }
  return {};
}

// Collects the pieces of a segment.
class Deduplicator::Building {
 public:
  Building(std::vector<Origin>& origins, Segment& segment) : origins_(&origins), segment_(&segment) {}

  void literals(std::uint32_t count) {
    if (count == 0) return;
    std::vector<Piece>& pieces = segment_->pieces;
    if (pieces.empty() || pieces.back().copy > 0) pieces.emplace_back();
    pieces.back().literals += count;
    segment_->literals += count;
    at_ += count;
  }
  // The same for bytes that the history stores from `at` on.
  void literals(std::uint32_t count, std::uint64_t at) {
    if (count == 0) return;
    note_origin(at, stream_at());
    literals(count);
  }
  // Adds a copy of `count` bytes of the history from `from` on. `at`: where the history also stores this
  // occurrence; null if it does not.
  void copy(std::uint64_t from, std::uint32_t count, const std::uint64_t* at) {
    auto origin = static_cast<std::size_t>(std::ranges::upper_bound(*origins_, from, {}, &Origin::at) -
                                           origins_->begin()) -
                  1;
    for (std::uint32_t done = 0; done < count; ++origin) {
      const auto [begin, source] = (*origins_)[origin];
      const std::uint64_t left = count - done;
      // Origins added here do not matter, because the copied bytes end before them.
      const auto part = static_cast<std::uint32_t>(
          origin + 1 < origins_->size() ? std::min(left, (*origins_)[origin + 1].at - (from + done)) : left);
      const std::uint64_t from_stream = source + (from + done - begin);
      if (part >= least_copy || continues(from_stream)) {
        if (at) note_origin(*at + done, from_stream);
        copy_of_stream(from_stream, part);
      } else if (at) {
        literals(part, *at + done);
      } else {
        literals(part);
      }
      done += part;
    }
  }

 private:
  [[nodiscard]] std::uint64_t stream_at() const { return segment_->stream_offset + at_; }
  // Whether a copy from `source` continues the previous copy.
  [[nodiscard]] bool continues(std::uint64_t source) const {
    return !segment_->pieces.empty() && segment_->pieces.back().copy > 0 &&
           segment_->pieces.back().source + segment_->pieces.back().copy == source;
  }
  void copy_of_stream(std::uint64_t source, std::uint32_t count) {
    std::vector<Piece>& pieces = segment_->pieces;
    if (continues(source)) {
      pieces.back().copy += count;
    } else {
      if (pieces.empty() || pieces.back().copy > 0) pieces.emplace_back();
      pieces.back().copy = count;
      pieces.back().source = source;
      ++segment_->copies;
    }
    at_ += count;
  }
  void note_origin(std::uint64_t at, std::uint64_t source) {
    if (!origins_->empty() && origins_->back().source + (at - origins_->back().at) == source) return;
    origins_->push_back({at, source});
  }

  std::vector<Origin>* origins_;
  Segment* segment_;
  std::uint32_t at_ = 0;
};

Segment Deduplicator::divide(CutFragment cut) {
  Segment segment{.stream_offset = stream_size_};
  Building building(origins_, segment);
  history_.begin_fragment();
  std::size_t new_begin = 0;
  std::size_t begin = 0;
  // New bytes are added to the history at the next known chunk, or at the end. Until then these are their
  // positions.
  std::uint64_t at = history_.end();
  for (const Chunk& chunk : cut.chunks) {
    const auto length = static_cast<std::uint32_t>(chunk.end - begin);
    const auto [found, is_new] = places_.try_emplace(chunk.digest, at + (begin - new_begin));
    ++counts_.chunks;
    if (!is_new) {
      add_new(building, cut, new_begin, begin);
      building.copy(found->second, length, nullptr);
      at = history_.end();
      new_begin = chunk.end;
      ++counts_.known_chunks;
      counts_.known_bytes += length;
    }
    begin = chunk.end;
  }
  add_new(building, cut, new_begin, begin);
  stream_size_ += cut.fragment.bytes.size();
  counts_.copied_bytes += cut.fragment.bytes.size() - segment.literals;
  segment.fragment = std::move(cut.fragment);
  return segment;
}

// Adds the bytes from `begin` to `end` of a fragment, all in new chunks.
void Deduplicator::add_new(Building& segment, const CutFragment& cut, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  const std::uint64_t first = history_.add(cut.fragment.bytes.subspan(begin, end - begin));
  const auto position = [&](std::size_t at) { return first + (at - begin); };
  std::size_t done = begin;
  if (history_.looks_back()) {
    auto mark = std::ranges::lower_bound(cut.marks, begin + GearHash::window, {}, &Mark::end);
    for (; mark != cut.marks.end() && mark->end <= end; ++mark) {
      if (cut.marks.end() - mark > marks_ahead) {
        history_.expect((mark + marks_ahead)->hash);
        history_.expect_soon((mark + marks_soon)->hash);
      }
      if (mark->end > done) {
        const auto match = history_.find(position(mark->end), mark->hash, mark->end - done, end - mark->end);
        if (match.length() >= least_match) {
          const std::size_t match_begin = mark->end - match.before;
          segment.literals(static_cast<std::uint32_t>(match_begin - done), position(done));
          const std::uint64_t at = position(match_begin);
          segment.copy(match.begin, match.length(), &at);
          done = match_begin + match.length();
        }
      }
      history_.remember(position(mark->end), mark->hash);
    }
  }
  segment.literals(static_cast<std::uint32_t>(end - done), position(done));
}

}  // namespace millrace::dedup
