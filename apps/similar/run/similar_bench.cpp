// Cost per image of each stage of image search.
#include "similar/image/image_decoder.h"
#include "similar/image/resize.h"
#include "similar/index/image_index.h"
#include "similar/regions/earth_movers_distance.h"
#include "similar/run/photo_stages.h"

#include <random>

#include <benchmark/benchmark.h>

namespace millrace::similar {
namespace {

// Smooth colour fields with a little noise, about as much work as a photograph.
Image picture(unsigned seed) {
  std::mt19937 random(seed);
  Image image(481, 321);
  const unsigned a = 3 + random() % 40;
  const unsigned b = 3 + random() % 40;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      for (int c = 0; c < 3; ++c)
        image.pixel(x, y)[c] =
            static_cast<std::uint8_t>(static_cast<unsigned>(x) / a * 37 % 120 +
                                      static_cast<unsigned>(y) / b * 53 % 120 + random() % 16);
  return image;
}

void decode(benchmark::State& state) {
  const auto file = encode_jpeg(picture(1), 90);
  const auto header = read_image_header(*file);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(decode_image(*file, *header, 2 * analysed_side));
}
BENCHMARK(decode);

void resize_to_analysed(benchmark::State& state) {
  const Image image = picture(1);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(resize(image, analysed_side, analysed_side));
}
BENCHMARK(resize_to_analysed);

void segment_analysed(benchmark::State& state) {
  const Image image = resize(picture(1), analysed_side, analysed_side);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(segment(image));
}
BENCHMARK(segment_analysed);

void extract(benchmark::State& state) {
  const Image image = resize(picture(1), analysed_side, analysed_side);
  const Segmentation segmentation = segment(image);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(extract_features(image, segmentation));
}
BENCHMARK(extract);

std::vector<Region> random_regions(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<Region> regions(count);
  for (Region& region : regions) {
    for (float& feature : region.features)
      feature = number(random);
    region.weight = 1 / static_cast<float>(count);
  }
  return regions;
}

void earth_movers(benchmark::State& state) {
  std::mt19937 random(1);
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto a = random_regions(random, count);
  const auto b = random_regions(random, count);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(earth_movers_distance(a, b));
}
BENCHMARK(earth_movers)->Arg(5)->Arg(10)->Arg(20)->Arg(40);

ImageIndex index_of_random(std::size_t images) {
  std::mt19937 random(1);
  ImageIndex index("/");
  for (std::size_t i = 0; i < images; ++i)
    static_cast<void>(index.add({"image", 0, 0, random_regions(random, 12)}));
  return index;
}

void add_to_index(benchmark::State& state) {
  ImageIndex index = index_of_random(static_cast<std::size_t>(state.range(0)));
  std::mt19937 random(2);
  for ([[maybe_unused]] auto _ : state)
    static_cast<void>(index.add({"image", 0, 0, random_regions(random, 12)}));
}
BENCHMARK(add_to_index)->Arg(1000)->Iterations(500);

void look_up(benchmark::State& state) {
  const ImageIndex index = index_of_random(static_cast<std::size_t>(state.range(0)));
  std::mt19937 random(2);
  const auto query = random_regions(random, 12);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(index.candidates(query, 20));
}
BENCHMARK(look_up)->Arg(200)->Arg(2000);

}  // namespace
}  // namespace millrace::similar
