#include "millrace/video/ffmpeg/named_files.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace millrace::video {
namespace {

namespace fs = std::filesystem;

// The kernel confines the path to the folder, whatever links and dots it contains.
Descriptor open_beneath(const fs::path& folder, const fs::path& path) {
  const auto root = Descriptor::owned(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return {};
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return Descriptor::owned(
      static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
}

// Returns the path of a file URL; empty for other URLs. FFmpeg treats the text before the first colon as a
// protocol if it consists of letters, digits and a few signs.
fs::path path_of(std::string_view url) {
  constexpr std::string_view of_protocols =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.,";
  if (url.starts_with("file:")) return url.substr(std::string_view("file:").size());
  const std::size_t end = url.find_first_not_of(of_protocols);
  return end != std::string_view::npos && url[end] == ':' ? fs::path() : fs::path(url);
}

bool is_hls(const AVInputFormat& demuxer) { return std::string_view(demuxer.name).starts_with("hls"); }

bool starts_as_playlist(InputFile& file) {
  std::string start(std::min<std::uint64_t>(file.size().value_or(0), 7), '\0');
  return file.read_at(0, std::as_writable_bytes(std::span(start))) && is_playlist(start);
}

// FFmpeg probes each playlist's first part, which takes several MiB and one descriptor.
constexpr std::size_t most_playlists = 128;
constexpr std::size_t most_playlist_bytes = std::size_t{256} << 20;
// With the parts that are probed.
constexpr std::size_t most_files_of_header = 4 * most_playlists;

}  // namespace

Status NamedFiles::check(const AVInputFormat& demuxer) {
  in_header_ = true;
  files_ = bytes_ = 0;
  if (!is_hls(demuxer)) return {};
  if (!file_.is_regular())
    return failure(
        "{}: is a playlist (HLS), and what it names is in no folder; give the playlist by its name",
        file_.name());
  const Result<PlaylistSize> size = measured(file_);
  if (!size) return std::unexpected(size.error());
  if (size->playlists > most_playlists)
    return failure("{}: names {} playlists, and at most {} are opened; give one of them", file_.name(),
                   size->playlists, most_playlists);
  bytes_ = size->bytes;
  return {};
}

Status NamedFiles::check_unread(const AVInputFormat* demuxer) const {
  if (demuxer != nullptr && is_hls(*demuxer)) return {};
  if (!file_.is_regular() || !starts_as_playlist(file_)) return {};
  return failure("{}: is a playlist, and FFmpeg reads only those of HLS whose name ends in .m3u8; rename it, "
                 "or give the video itself",
                 file_.name());
}

void NamedFiles::guard(AVFormatContext& context, FfmpegPtr<AVDictionary>& options) {
  context.io_open = &NamedFiles::open;
  context.io_close2 = &NamedFiles::close;
  context.interrupt_callback = {&NamedFiles::is_stopped, this};
  // Nested demuxers, and those that open a network, bypass io_open. An empty whitelist would allow
  // everything.
  AVDictionary* all = options.release();
  av_dict_set(&all, "protocol_whitelist", "none", 0);
  options.reset(all);
}

std::optional<Error> NamedFiles::error() const {
  if (error_) return error_;
  for (const auto& each : opened_)
    if (each->error()) return each->error();
  return std::nullopt;
}

bool NamedFiles::lack_data() const {
  return closed_one_lacks_data_ ||
         std::ranges::any_of(opened_, [](const auto& each) { return each->lacks_data(); });
}

int NamedFiles::is_stopped(void* self) { return static_cast<NamedFiles*>(self)->file_.is_stopped() ? 1 : 0; }

int NamedFiles::open(AVFormatContext* context, AVIOContext** io, const char* url, int flags, AVDictionary**) {
  auto& self = *static_cast<NamedFiles*>(context->interrupt_callback.opaque);
  if (self.error_) return AVERROR(EACCES);
  auto file = (flags & AVIO_FLAG_WRITE) != 0 ? failure("{}: names a file to write to", self.file_.name())
                                             : self.open(std::string(url));
  const Status admitted = file ? self.admit(**file) : std::unexpected(std::move(file.error()));
  if (!admitted) {
    self.error_ = admitted.error();
    return AVERROR(EACCES);
  }
  auto bridge = std::make_unique<InputBridge>(*std::move(file));
  if (bridge->io() == nullptr) return AVERROR(ENOMEM);
  *io = bridge->io();
  self.opened_.push_back(std::move(bridge));
  return 0;
}

int NamedFiles::close(AVFormatContext* context, AVIOContext* io) {
  auto& self = *static_cast<NamedFiles*>(context->interrupt_callback.opaque);
  std::erase_if(self.opened_, [&](const auto& each) {
    if (each->io() != io) return false;
    if (each->error() && !self.error_) self.error_ = each->error();
    self.closed_one_lacks_data_ = self.closed_one_lacks_data_ || each->lacks_data();
    return true;
  });
  return 0;
}

Result<std::unique_ptr<InputFile>> NamedFiles::open(const std::string& url) const {
  const std::string& name = file_.name();
  const auto refused = [&] {
    return failure("{}: refers to {}, which is not a file in the same folder and is not opened; give the "
                   "video itself, or fetch it first",
                   name, in_quotes(url));
  };
  const fs::path path = path_of(url);
  if (path.empty() || !file_.is_regular()) return refused();
  std::error_code error;
  const fs::path folder = fs::absolute(name, error).lexically_normal().parent_path();
  const fs::path inside = fs::absolute(path, error).lexically_normal().lexically_relative(folder);
  if (error || inside.empty() || *inside.begin() == "..") return refused();
  Descriptor descriptor = open_beneath(folder, inside);
  if (!descriptor.is_open() && (errno == EXDEV || errno == ELOOP)) return refused();
  if (!descriptor.is_open())
    return failure("{}: names {} to be read, which cannot be opened ({}); put it in its place", name,
                   in_quotes(url), system_reason(errno));
  if (!descriptor.is_regular_file()) return refused();
  return std::make_unique<InputFile>(std::move(descriptor), url);
}

// Fails if the file that FFmpeg asked for is one too many, or a playlist that asks for too much.
Status NamedFiles::admit(InputFile& file) {
  if (in_header_ && ++files_ > most_files_of_header)
    return failure("{}: names more than {} files to begin with; give the video itself", file_.name(),
                   most_files_of_header);
  if (!starts_as_playlist(file)) return {};
  const Result<PlaylistSize> size = measured(file);
  if (!size) return std::unexpected(size.error());
  if (size->playlists > 0)
    return failure(
        "{}: names the playlist {}, which itself names playlists; give one that names only parts of "
        "the video",
        file_.name(), in_quotes(file.name()));
  bytes_ = in_header_ ? bytes_ + size->bytes : size->bytes;
  if (bytes_ > most_playlist_bytes)
    return failure("{}: its playlists need more than {} MiB of memory; give one of them", file_.name(),
                   most_playlist_bytes >> 20);
  return {};
}

Result<PlaylistSize> NamedFiles::measured(InputFile& playlist) const {
  const std::uint64_t bytes = playlist.size().value_or(0);
  const auto too_large = [&] {
    return failure("{}: is a playlist that needs more than {} MiB of memory; give the video itself",
                   playlist.name(), most_playlist_bytes >> 20);
  };
  if (bytes > most_playlist_bytes) return too_large();
  std::string text(bytes, '\0');
  if (Status read = playlist.read_at(0, std::as_writable_bytes(std::span(text))); !read)
    return std::unexpected(std::move(read.error()));
  std::error_code error;
  const PlaylistSize size = playlist_size(text, fs::absolute(file_.name(), error).native().size());
  if (size.bytes > most_playlist_bytes && size.playlists <= most_playlists) return too_large();
  return size;
}

const char* why_refused(const AVInputFormat& demuxer) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 7> kinds{{
      {"sdp",
       "asks for a stream from the network (SDP), and a file opens no network; record the stream first, "
       "as by ffmpeg -protocol_whitelist file,udp,rtp -i FILE -c copy OUT.mkv"},
      {"rtsp",
       "asks for a stream from the network (RTSP), and a file opens no network; record the stream first"},
      {"concat",
       "is a list of other files (ffconcat), which are not opened; join them first, as by ffmpeg -f "
       "concat -i LIST -c copy OUT.mkv"},
      {"dash",
       "is a list of other files or addresses (DASH), which are not opened; fetch the video first, as by "
       "ffmpeg -i FILE -c copy OUT.mkv"},
      {"avisynth", "is a script, and is not run; give the video that it makes"},
      {"vapoursynth",
       "is a script, and is not run; give the video that it makes, as by vspipe -c y4m FILE -"},
      {"vobsub", "is subtitles (VobSub), and not a video; give a file with video in it"},
  }};
  const auto* found = std::ranges::find(kinds, std::string_view(demuxer.name),
                                        &std::pair<std::string_view, const char*>::first);
  return found == kinds.end() ? nullptr : found->second;
}

}  // namespace millrace::video
