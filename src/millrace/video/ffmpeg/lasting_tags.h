// Tags of a file that still hold when its frames go into another one.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <string>
#include <vector>

namespace millrace::video {

// Adds them to `to`: all but those that say what the file's container, encoder or statistics were.
void copy_lasting_tags(const AVDictionary* from, AVDictionary*& to);

// In words, where `container` has any, or chapters: "2 chapters", "metadata (title, artist)".
[[nodiscard]] std::vector<std::string> chapters_and_tags(std::size_t chapters, const AVDictionary* tags);

}  // namespace millrace::video
