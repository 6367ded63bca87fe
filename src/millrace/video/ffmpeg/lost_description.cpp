#include "millrace/video/ffmpeg/lost_description.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/video/ffmpeg/lasting_tags.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::video {
namespace {

// Feeds a demuxer from the written file.
class WrittenFile {
 public:
  WrittenFile(RandomBytes& file, std::uint64_t size) : file_(file), size_(static_cast<std::int64_t>(size)) {
    constexpr int buffer_bytes = 32 << 10;
    auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_bytes));
    io_.reset(avio_alloc_context(buffer, buffer_bytes, 0, this, &read, nullptr, &seek));
  }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  ~WrittenFile() { container_.reset(); }

  // Null if it cannot be read.
  [[nodiscard]] const AVFormatContext* open() {
    AVFormatContext* context = avformat_alloc_context();
    if (context == nullptr || io_ == nullptr) return nullptr;
    context->pb = io_.get();
    // avformat_open_input() frees the context if it fails.
    if (avformat_open_input(&context, "", nullptr, nullptr) < 0) return nullptr;
    container_.reset(context);
    return context;
  }

 private:
  static int read(void* opaque, std::uint8_t* buffer, int size) {
    auto& self = *static_cast<WrittenFile*>(opaque);
    const auto count = static_cast<int>(std::min<std::int64_t>(size, self.size_ - self.position_));
    if (count <= 0) return AVERROR_EOF;
    const std::span bytes(reinterpret_cast<std::byte*>(buffer), static_cast<std::size_t>(count));
    if (!self.file_.read_at(static_cast<std::uint64_t>(self.position_), bytes)) return AVERROR(EIO);
    self.position_ += count;
    return count;
  }
  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto& self = *static_cast<WrittenFile*>(opaque);
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return self.size_;
    case SEEK_CUR:
      offset += self.position_;
      break;
    case SEEK_END:
      offset += self.size_;
      break;
    default:
      break;
    }
    if (offset < 0) return AVERROR(EINVAL);
    return self.position_ = offset;
  }

  RandomBytes& file_;
  std::int64_t size_;
  std::int64_t position_ = 0;
  FfmpegPtr<AVIOContext> io_;
  FfmpegPtr<AVFormatContext> container_;
};

// Tags of a stream that say how it was stored, not what is in it, or that a demuxer does not report although
// they are in the file. Those are the title in .mp4, where it is the name of the track.
bool is_not_compared(const AVFormatContext& written, std::string_view key) {
  constexpr std::array<std::string_view, 8> storage{"filename",  "mimetype",      "handler_name",
                                                    "vendor_id", "creation_time", "language",
                                                    "timecode",  "alpha_mode"};
  if (key == "title" && std::string_view(written.iformat->name).starts_with("mov")) return true;
  return std::ranges::find(storage, key) != storage.end();
}

// Keys of `asked` that `written` lacks.
std::vector<std::string> lost_tags(const AVDictionary* asked, const AVDictionary* written,
                                   const AVFormatContext* of_stream = nullptr) {
  AVDictionary* lasting = nullptr;
  copy_lasting_tags(asked, lasting);
  const FfmpegPtr<AVDictionary> owner(lasting);
  std::vector<std::string> lost;
  const AVDictionaryEntry* tag = nullptr;
  while ((tag = av_dict_get(lasting, "", tag, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    std::string lower = tag->key;
    for (char& each : lower)
      if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
    if (*tag->value == '\0' || (of_stream != nullptr && is_not_compared(*of_stream, lower))) continue;
    if (av_dict_get(written, tag->key, nullptr, 0) == nullptr) lost.emplace_back(tag->key);
  }
  return lost;
}

std::vector<std::string> disposition_names(int disposition) {
  std::vector<std::string> names;
  for (unsigned bit = 1; bit != 0 && bit <= static_cast<unsigned>(disposition); bit <<= 1U)
    if ((static_cast<unsigned>(disposition) & bit) != 0)
      if (const char* name = av_disposition_to_string(static_cast<int>(bit))) names.emplace_back(name);
  return names;
}

bool is_attachment(const AVStream& stream) {
  return stream.codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT ||
         (stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}

bool has_attachment(const AVFormatContext& written, const AVStream& asked) {
  const AVDictionaryEntry* const name = av_dict_get(asked.metadata, "filename", nullptr, 0);
  for (unsigned i = 0; i < written.nb_streams; ++i) {
    const AVDictionaryEntry* const found = av_dict_get(written.streams[i]->metadata, "filename", nullptr, 0);
    if (name == nullptr ? is_attachment(*written.streams[i])
                        : found != nullptr && std::string_view(found->value) == name->value)
      return true;
  }
  return false;
}

// The stream as it was written; null if it is not found. The .mp4 muxer leaves out streams without packets,
// and adds some of its own.
const AVStream* find_written(const AVFormatContext& written, const AVFormatContext& asked, unsigned index) {
  if (std::string_view(written.iformat->name).starts_with("mov")) {
    for (unsigned i = 0; i < written.nb_streams; ++i)
      if (written.streams[i]->id == static_cast<int>(index) + 1) return written.streams[i];
    return nullptr;
  }
  unsigned tracks = 0;
  for (unsigned i = 0; i < index; ++i)
    tracks += asked.streams[i]->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT ? 0 : 1;
  return tracks < written.nb_streams ? written.streams[tracks] : nullptr;
}

std::string list_of(const std::vector<std::string>& keys) { return fmt::format("{}", fmt::join(keys, ", ")); }

}  // namespace

std::vector<std::string> lost_description(const AVFormatContext& muxer, RandomBytes& file, std::uint64_t size,
                                          const std::map<int, std::string>& names, std::string_view suffix) {
  // Such a container is for pictures alone. SideCopy has named the rest already.
  if (muxer.oformat->audio_codec == AV_CODEC_ID_NONE) return {};
  WrittenFile source(file, size);
  const AVFormatContext* const written = source.open();
  if (written == nullptr) return {};
  std::vector<std::string> lost;
  const auto add = [&](const std::string& what) {
    lost.push_back(fmt::format("{}, which {} cannot hold", what, suffix));
  };
  if (const auto keys = lost_tags(muxer.metadata, written->metadata); !keys.empty())
    add(fmt::format("metadata ({})", list_of(keys)));
  for (unsigned i = 0; i < muxer.nb_streams; ++i) {
    const AVStream& asked = *muxer.streams[i];
    const auto name = names.find(static_cast<int>(i));
    if (name == names.end()) continue;
    if (asked.codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT) {
      if (!has_attachment(*written, asked)) add(name->second);
      continue;
    }
    const AVStream* const there = find_written(*written, muxer, i);
    if (there == nullptr || there->codecpar->codec_type != asked.codecpar->codec_type) continue;
    // The tags of a cover name its file and the kind of picture, for which .mp4 has no place.
    const bool cover = (asked.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
    const auto keys =
        cover ? std::vector<std::string>() : lost_tags(asked.metadata, there->metadata, written);
    if (!keys.empty()) add(fmt::format("metadata ({}) of {}", list_of(keys), name->second));
    if (const auto marks = disposition_names(asked.disposition & ~there->disposition); !marks.empty())
      add(fmt::format("the disposition {} of {}", fmt::join(marks, "+"), name->second));
  }
  if (written->nb_chapters < muxer.nb_chapters) {
    add(counted(muxer.nb_chapters - written->nb_chapters, "chapter"));
  }
  std::vector<std::string> of_chapters;
  for (unsigned i = 0; i < std::min(written->nb_chapters, muxer.nb_chapters); ++i)
    for (std::string& key : lost_tags(muxer.chapters[i]->metadata, written->chapters[i]->metadata))
      if (std::ranges::find(of_chapters, key) == of_chapters.end()) of_chapters.push_back(std::move(key));
  if (!of_chapters.empty()) add(fmt::format("metadata ({}) of chapters", list_of(of_chapters)));
  return lost;
}

}  // namespace millrace::video
