// Selects the tags of a file that stay true when its frames go into another file.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <string>
#include <vector>

namespace millrace::video {

// Copies tags to `to`, except those about the file's container, encoder or statistics.
void copy_lasting_tags(const AVDictionary* from, AVDictionary*& to);

// Describes the chapters and tags, if any: "2 chapters", "metadata (title, artist)".
[[nodiscard]] std::vector<std::string> chapters_and_tags(std::size_t chapters, const AVDictionary* tags);

}  // namespace millrace::video
