// The answers to a query as a page to look at.
#pragma once

#include "similar/index/image_index.h"
#include "similar/run/query_run.h"
#include "similar/run/thumbnails.h"

#include <span>
#include <string>

namespace millrace::similar {

// A whole HTML document without references to anything outside: a row for each image asked about, with its
// answers from left to right. Every thumbnail is in it once, however often it is shown; an image without one
// is shown by its name.
[[nodiscard]] std::string html_page(std::span<const QueryAnswer> answers, const ImageIndex& index,
                                    const Thumbnails& thumbnails);

}  // namespace millrace::similar
