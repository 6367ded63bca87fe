// Shows the answers to a query as an HTML page.
#pragma once

#include "similar/index/image_index.h"
#include "similar/run/query_run.h"
#include "similar/run/thumbnails.h"

#include <span>
#include <string>

namespace millrace::similar {

// A self-contained HTML document with one row per query image, its answers from left to right. Every
// thumbnail is embedded once, however often it is shown. An image without a thumbnail is shown by its name.
[[nodiscard]] std::string html_page(std::span<const QueryAnswer> answers, const ImageIndex& index,
                                    const Thumbnails& thumbnails);

}  // namespace millrace::similar
