#include "millrace/video/ffmpeg/lasting_tags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace millrace::video {
namespace {

bool is_of_the_file_alone(std::string_view key) {
  static constexpr std::array<std::string_view, 8> exact{"major_brand", "minor_version", "compatible_brands",
                                                         "encoder",     "ENCODER",       "rotate",
                                                         "duration",    "DURATION"};
  static constexpr std::array<std::string_view, 5> beginnings{"BPS", "DURATION-", "NUMBER_OF_FRAMES",
                                                              "NUMBER_OF_BYTES", "_STATISTICS_"};
  return std::ranges::find(exact, key) != exact.end() ||
         std::ranges::any_of(beginnings, [key](std::string_view each) { return key.starts_with(each); });
}

template <class Fn> void for_lasting_tags(const AVDictionary* tags, Fn&& fn) {
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(tags, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr)
    if (!is_of_the_file_alone(entry->key)) fn(entry->key, entry->value);
}

}  // namespace

void copy_lasting_tags(const AVDictionary* from, AVDictionary*& to) {
  for_lasting_tags(from, [&](const char* key, const char* value) { av_dict_set(&to, key, value, 0); });
}

std::vector<std::string> chapters_and_tags(std::size_t chapters, const AVDictionary* tags) {
  std::vector<std::string> words;
  if (chapters > 0) words.push_back(fmt::format("{} chapter{}", chapters, chapters == 1 ? "" : "s"));
  std::string names;
  for_lasting_tags(tags, [&](const char* key, const char*) {
    names += names.empty() ? "" : ", ";
    names += key;
  });
  if (!names.empty()) words.push_back(fmt::format("metadata ({})", names));
  return words;
}

}  // namespace millrace::video
