// Prints how often an image's own crops and flips are found first.
//
//   similar_recall FOLDER
//
// Makes variants of every image in FOLDER (mirrored; the middle 90 %, 80 % and 70 % of both sides; a corner
// of 80 %), saves them as JPEG and indexes them with the images. Then it queries each image, leaving the
// image itself out of the answers. Recall@1: the number of images whose first answer is one of their own
// variants. Finally it queries each variant in an index of the images alone; recall@1 is then the number of
// variants whose first answer is their image.
#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/pool/worker_pool.h"
#include "similar/image/image_decoder.h"
#include "similar/run/index_run.h"
#include "similar/run/query_run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace millrace;
using similar::Image;
namespace fs = std::filesystem;

[[noreturn]] void stop(const Error& error) {
  fmt::print(stderr, "similar_recall: {}\n", error.message);
  std::exit(exit_code(error));
}
template <class T> T value_or_stop(Result<T> result) {
  if (!result) stop(result.error());
  return std::move(*result);
}

// Crops the image from these relative positions, to `share` of both sides.
Image cut(const Image& image, double left, double top, double share) {
  const auto part = [](int side, double of) { return static_cast<int>(side * of); };
  Image result(part(image.width, share), part(image.height, share));
  for (int y = 0; y < result.height; ++y)
    std::copy_n(image.pixel(part(image.width, left), y + part(image.height, top)), 3 * result.width,
                result.pixel(0, y));
  return result;
}

struct Variant {
  const char* name;
  std::function<Image(const Image&)> make;
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"mirrored", [](const Image& image) { return similar::upright(image, 2); }},
      {"middle 90 %", [](const Image& image) { return cut(image, 0.05, 0.05, 0.9); }},
      {"middle 80 %", [](const Image& image) { return cut(image, 0.1, 0.1, 0.8); }},
      {"middle 70 %", [](const Image& image) { return cut(image, 0.15, 0.15, 0.7); }},
      {"corner of 80 %", [](const Image& image) { return cut(image, 0, 0.2, 0.8); }},
  };
  return all;
}

// "<number of the image>-<number of the variant, 0 the image itself>.jpg"
struct Name {
  int image = 0;
  int variant = 0;
};
std::string text_of(Name name) { return fmt::format("{:06}-{}.jpg", name.image, name.variant); }
Name name_of(const std::string& path) {
  const std::string text = fs::path(path).filename();
  return {std::stoi(text.substr(0, 6)), std::stoi(text.substr(7))};
}

// Writes the images and their variants to two folders; returns the number of images.
int make_variants(const std::string& from, const fs::path& images, const fs::path& all) {
  int count = 0;
  for (const similar::ImageFile& file : value_or_stop(similar::images_in(from)).files) {
    const auto bytes = value_or_stop(read_regular_file(file.path));
    const auto header = bytes ? similar::read_image_header(*bytes) : Result<similar::ImageHeader>();
    if (!bytes || !header) continue;
    auto decoded = similar::decode_image(*bytes, *header, 1 << 20);
    if (!decoded) continue;
    const Image image = similar::upright(std::move(*decoded), header->orientation);
    const auto write = [&](const Image& picture, const fs::path& path) {
      const auto jpeg = value_or_stop(similar::encode_jpeg(picture, 90));
      if (Status written = write_whole(path.string(), jpeg); !written) stop(written.error());
    };
    write(image, images / text_of({count, 0}));
    fs::copy_file(images / text_of({count, 0}), all / text_of({count, 0}));
    for (std::size_t v = 0; v < variants().size(); ++v)
      write(variants()[v].make(image), all / text_of({count, static_cast<int>(v) + 1}));
    ++count;
  }
  return count;
}

similar::ImageIndex index_of(const fs::path& folder, pool::Team& team) {
  auto outcome = similar::run_index(
      {.folder = folder, .files = value_or_stop(similar::images_in(folder)).files, .known = {}}, team);
  if (!outcome.status) stop(outcome.status.error());
  return std::move(outcome.index);
}

// Queries all images in `folder` and passes each one's name and answers to `judge`.
void ask(const similar::ImageIndex& index, const fs::path& folder, std::size_t top, pool::Team& team,
         const std::function<void(Name, const std::vector<Name>&)>& judge) {
  const auto finished = similar::run_query(index,
                                           {.files = value_or_stop(similar::images_in(folder)).files,
                                            .top = top,
                                            .on_answer = [&](const similar::QueryAnswer& answer) -> Status {
                                              if (!answer.answers)
                                                return std::unexpected(answer.answers.error());
                                              std::vector<Name> names;
                                              for (const similar::Answer& one : *answer.answers)
                                                names.push_back(name_of(index.path(one.image)));
                                              judge(name_of(answer.path), names);
                                              return {};
                                            }},
                                           team);
  if (!finished.status) stop(finished.status.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: similar_recall FOLDER (of images)\n");
    return 2;
  }
  const TemporaryFolder workspace;
  if (workspace.path().empty()) stop({.message = "cannot make a temporary folder"});
  const fs::path images = workspace.path() / "images";
  const fs::path all = workspace.path() / "all";
  fs::create_directory(images);
  fs::create_directory(all);
  const int count = make_variants(argv[1], images, all);
  if (count == 0) stop({.message = "none of the images can be read"});
  const auto pool = value_or_stop(pool::WorkerPool::create(2));
  pool::PoolTeam team = pool->team();

  const std::size_t own = variants().size();
  const similar::ImageIndex large = index_of(all, team);
  int first = 0;
  std::size_t among = 0;
  ask(large, images, own + 1, team, [&](Name asked, std::vector<Name> names) {
    std::erase_if(names, [&](Name name) { return name.image == asked.image && name.variant == 0; });
    first += !names.empty() && names.front().image == asked.image ? 1 : 0;
    names.resize(std::min(names.size(), own));
    among += static_cast<std::size_t>(std::ranges::count(names, asked.image, &Name::image));
  });
  fmt::print("{} images asked about, {} images and variants indexed\n", count, large.images().size());
  fmt::print("  an own variant first (recall@1):         {:.1f} %\n", 100.0 * first / count);
  fmt::print("  own variants among the first {} (recall): {:.1f} %\n", own,
             100.0 * static_cast<double>(among) / static_cast<double>(own) / count);

  const similar::ImageIndex small = index_of(images, team);
  std::map<int, int> found;
  ask(small, all, 1, team, [&](Name asked, const std::vector<Name>& names) {
    found[asked.variant] += !names.empty() && names.front().image == asked.image ? 1 : 0;
  });
  fmt::print("variants asked about, {} images indexed: own image first (recall@1)\n", count);
  for (std::size_t v = 0; v <= variants().size(); ++v)
    fmt::print("  {:<16} {:5.1f} %\n", v == 0 ? "the image itself" : variants()[v - 1].name,
               100.0 * found[static_cast<int>(v)] / count);
  return 0;
}
