#include "dedup/chunks/deduplicator.h"

#include <utility>

namespace millrace::dedup {

CutFragment cut(Fragment fragment, const ChunkCutter& cutter) {
  std::vector<Chunk> chunks;
  chunks.reserve(fragment.bytes.size() / cutter.sizes().average + 1);
  for (std::size_t end = 0; end < fragment.bytes.size();) {
    end += cutter.first_chunk(fragment.bytes.subspan(end));
    chunks.push_back({.end = end});
  }
  return {std::move(fragment), std::move(chunks)};
}

Status digest(CutFragment& fragment) {
  Result<Sha256> sha = Sha256::create();
  if (!sha) return std::unexpected(sha.error());
  std::size_t begin = 0;
  for (Chunk& chunk : fragment.chunks) {
    chunk.digest = sha->of(fragment.fragment.bytes.subspan(begin, chunk.end - begin));
    begin = chunk.end;
  }
  return {};
}

std::vector<Run> Deduplicator::divide(const CutFragment& cut) {
  std::vector<Run> runs;
  const Fragment& fragment = cut.fragment;
  // Of the run under way, the last of `runs`.
  std::size_t run_begin = 0;
  std::size_t begin = 0;
  for (const Chunk& chunk : cut.chunks) {
    const auto length = static_cast<std::uint32_t>(chunk.end - begin);
    NewRun* const fresh = runs.empty() ? nullptr : std::get_if<NewRun>(&runs.back());
    const Place here =
        fresh ? Place{records_ - 1, static_cast<std::uint32_t>(begin - run_begin)} : Place{records_, 0};
    const auto [found, is_new] = places_.try_emplace(chunk.digest, here);
    ++counts_.chunks;
    if (is_new) {
      if (!fresh) {
        run_begin = begin;
        runs.emplace_back(NewRun{{fragment.memory, {}}});
        ++records_;
      }
      std::get<NewRun>(runs.back()).part.bytes = fragment.bytes.subspan(run_begin, chunk.end - run_begin);
    } else {
      ++counts_.known_chunks;
      counts_.known_bytes += length;
      const Place& place = found->second;
      KnownRun* const known = runs.empty() ? nullptr : std::get_if<KnownRun>(&runs.back());
      if (known && known->record == place.record && known->begin + known->length == place.begin) {
        known->length += length;
      } else {
        runs.emplace_back(KnownRun{place.record, place.begin, length});
        ++records_;
      }
    }
    begin = chunk.end;
  }
  return runs;
}

}  // namespace millrace::dedup
