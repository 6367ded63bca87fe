// Cost per byte of each stage, and of alternative digests.
#include "dedup/archive/codec.h"
#include "dedup/chunks/chunk_cutter.h"
#include "dedup/chunks/chunk_digest.h"
#include "dedup/chunks/dedup_testing.h"
#include "dedup/chunks/deduplicator.h"
#include "dedup/chunks/stream_hash.h"
#include "dedup/run/pack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <benchmark/benchmark.h>
#include <openssl/evp.h>

namespace millrace::dedup {
namespace {

constexpr std::size_t fragment = std::size_t{4} << 20;

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void cut_into_chunks(benchmark::State& state) {
  const ChunkCutter cutter(*ChunkSizes::around(static_cast<std::size_t>(state.range(0))));
  const Bytes data = random_bytes(fragment, 1);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(cutter.ends(gear_marks(data), data.size()));
  count_bytes(state, data.size());
}
BENCHMARK(cut_into_chunks)->Arg(1024)->Arg(16384)->Arg(262144);

void divide(benchmark::State& state) {
  const ChunkCutter cutter(*ChunkSizes::around(default_average_chunk));
  const Bytes data = text_bytes(fragment, 1);
  Deduplicator deduplicator(static_cast<std::size_t>(state.range(0)), data.size());
  auto memory = std::make_shared<std::byte[]>(data.size());
  std::ranges::copy(data, memory.get());
  std::uint32_t number = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    CutFragment parts = cut({memory, {memory.get(), data.size()}}, cutter);
    for (Chunk& chunk : parts.chunks)  // make chunks new again in each round
      std::memcpy(chunk.digest.data(), &++number, sizeof number);
    state.ResumeTiming();
    benchmark::DoNotOptimize(deduplicator.divide(std::move(parts)));
  }
  count_bytes(state, data.size());
}
BENCHMARK(divide)->Arg(0)->Arg(128 << 20);

void digest_chunk(benchmark::State& state) {
  const Bytes data = random_bytes(default_average_chunk, 1);
  auto digest = ChunkDigest::create({});
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(digest->of(data));
  count_bytes(state, data.size());
}
BENCHMARK(digest_chunk);

// The alternatives without a secret key.
template <const EVP_MD* (*algorithm)()> void digest_without_key(benchmark::State& state) {
  const Bytes data = random_bytes(default_average_chunk, 1);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  for ([[maybe_unused]] auto _ : state) {
    EVP_DigestInit_ex2(context.get(), algorithm(), nullptr);
    EVP_DigestUpdate(context.get(), data.data(), data.size());
    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
    benchmark::DoNotOptimize(digest);
  }
  count_bytes(state, data.size());
}
BENCHMARK(digest_without_key<EVP_sha256>);
BENCHMARK(digest_without_key<EVP_blake2b512>);

void hash_the_stream(benchmark::State& state) {
  const Bytes data = random_bytes(fragment, 1);
  StreamHash hash;
  for ([[maybe_unused]] auto _ : state)
    hash.add(data);
  benchmark::DoNotOptimize(hash.value());
  count_bytes(state, data.size());
}
BENCHMARK(hash_the_stream);

void compress_text(benchmark::State& state) {
  const Bytes data = text_bytes(fragment, 1);
  Compressor compressor({Method::zstd, static_cast<int>(state.range(0))});
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(compressor.compress(data));
  count_bytes(state, data.size());
}
BENCHMARK(compress_text)->Arg(1)->Arg(3)->Arg(9);

}  // namespace
}  // namespace millrace::dedup
