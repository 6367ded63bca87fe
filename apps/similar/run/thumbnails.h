// Thumbnails: makes small versions of images in parallel.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/pool/team.h"
#include "millrace/stream/run/run_options.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace millrace::similar {

struct Thumbnail {
  int width = 0;
  int height = 0;
  std::vector<std::byte> jpeg;
};

// Maximum length of a side in pixels.
inline constexpr int longest_thumbnail_side = 220;

// By path. Images that cannot be read are left out.
using Thumbnails = std::map<std::string, Thumbnail>;

// Failure only if the run was stopped or memory ran out.
[[nodiscard]] Result<Thumbnails> make_thumbnails(const std::vector<std::string>& paths,
                                                 const stream::RunOptions& options, pool::Team& team);

}  // namespace millrace::similar
