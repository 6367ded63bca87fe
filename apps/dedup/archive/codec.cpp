#include "dedup/archive/codec.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <zlib.h>
#include <zstd.h>

namespace millrace::dedup {
namespace {

constexpr int highest_zstd_level = 19;  // higher levels need memory that --memory does not count
constexpr int highest_zlib_level = 9;

const Bytef* zlib_bytes(const std::byte* bytes) {
  return reinterpret_cast<const Bytef*>(bytes);  // NOLINT(*-reinterpret-cast): zlib's byte
}
Bytef* zlib_bytes(std::byte* bytes) {
  return reinterpret_cast<Bytef*>(bytes);  // NOLINT(*-reinterpret-cast): zlib's byte
}

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZlibInflater {
 public:
  ZlibInflater() : ready_(inflateInit(&stream_) == Z_OK) {}
  ZlibInflater(const ZlibInflater&) = delete;
  ZlibInflater& operator=(const ZlibInflater&) = delete;
  ~ZlibInflater() {
    if (ready_) inflateEnd(&stream_);
  }

  bool restore(std::span<const std::byte> payload, std::span<std::byte> content) {
    if (!ready_) return false;
    stream_.next_in =
        const_cast<Bytef*>(zlib_bytes(payload.data()));  // NOLINT(*-const-cast): zlib reads it only
    stream_.avail_in = static_cast<uInt>(payload.size());
    stream_.next_out = zlib_bytes(content.data());
    stream_.avail_out = static_cast<uInt>(content.size());
    return inflate(&stream_, Z_FINISH) == Z_STREAM_END && stream_.avail_in == 0 && stream_.avail_out == 0;
  }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

Result<Method> parse_method(std::string_view name) {
  for (const Method method : {Method::zstd, Method::zlib, Method::stored})
    if (name == method_name(method)) return method;
  return usage_error("'{}' is not a compression; give zstd, zlib or none", name);
}

std::string_view method_name(Method method) {
  switch (method) {
  case Method::stored:
    return "none";
  case Method::zstd:
    return "zstd";
  case Method::zlib:
    return "zlib";
  }
  return "";
}

Result<Compression> Compression::of(Method method, std::optional<int> level) {
  if (method == Method::stored) {
    if (level)
      return usage_error("--level {} says nothing without compression; leave one of the two out", *level);
    return Compression{method, 0};
  }
  const int highest = method == Method::zstd ? highest_zstd_level : highest_zlib_level;
  if (level && (*level < 1 || *level > highest))
    return usage_error("--level {} is not within 1 to {} for {}", *level, highest, method_name(method));
  return Compression{method, level.value_or(method == Method::zstd ? 3 : 6)};
}

// The compression context and buffer of a call.
class Compressor::Contexts {
 public:
  explicit Contexts(const Compression& compression) : compression_(compression) {}

  struct Context {
    std::unique_ptr<ZSTD_CCtx, FreeZstd> zstd;
    std::vector<std::byte> room;
  };

  [[nodiscard]] const Compression& compression() const { return compression_; }

  [[nodiscard]] std::unique_ptr<Context> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto context = std::move(idle_.back());
        idle_.pop_back();
        return context;
      }
    }
    auto context = std::make_unique<Context>();
    if (compression_.method == Method::zstd) {
      context->zstd.reset(ZSTD_createCCtx());
      if (context->zstd)
        ZSTD_CCtx_setParameter(context->zstd.get(), ZSTD_c_compressionLevel, compression_.level);
    }
    return context;
  }
  void give_back(std::unique_ptr<Context> context) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(context));
  }

 private:
  Compression compression_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> idle_;
};

Compressor::Compressor(const Compression& compression) : contexts_(std::make_unique<Contexts>(compression)) {}
Compressor::~Compressor() = default;

Result<Payload> Compressor::compress(std::span<const std::byte> content) {
  const Compression& compression = contexts_->compression();
  if (compression.method == Method::stored) return Payload{Method::stored, {content.begin(), content.end()}};

  auto context = contexts_->take();
  std::vector<std::byte>& room = context->room;
  std::size_t size = 0;
  bool done = false;
  if (compression.method == Method::zstd) {
    room.resize(std::max(room.size(), ZSTD_compressBound(content.size())));
    if (context->zstd)
      size = ZSTD_compress2(context->zstd.get(), room.data(), room.size(), content.data(), content.size());
    done = context->zstd && ZSTD_isError(size) == 0;
  } else {
    room.resize(std::max(room.size(), std::size_t{compressBound(content.size())}));
    uLongf written = room.size();
    done = compress2(zlib_bytes(room.data()), &written, zlib_bytes(content.data()), content.size(),
                     compression.level) == Z_OK;
    size = written;
  }
  if (!done)
    return failure("{} could not compress {} bytes; is there memory left?", method_name(compression.method),
                   content.size());
  Payload payload;
  if (size < content.size()) {
    payload.method = compression.method;
    payload.bytes.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(size));
  } else {
    payload.bytes.assign(content.begin(), content.end());
  }
  contexts_->give_back(std::move(context));
  return payload;
}

Status decompress(Method method, std::span<const std::byte> payload, std::span<std::byte> content) {
  bool restored = false;
  switch (method) {
  case Method::stored:
    restored = payload.size() == content.size();
    if (restored) std::ranges::copy(payload, content.begin());
    break;
  case Method::zstd: {
    const std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
    restored = context && ZSTD_decompressDCtx(context.get(), content.data(), content.size(), payload.data(),
                                              payload.size()) == content.size();
    break;
  }
  case Method::zlib:
    restored = ZlibInflater().restore(payload, content);
    break;
  }
  if (!restored) return failure("its payload does not restore its {} bytes of content", content.size());
  return {};
}

Status restore_segment(const SegmentHeader& header, std::span<const std::byte> payload,
                       std::span<std::byte> recipe, std::span<std::byte> literals) {
  if (Status done = decompress(header.recipe_method, payload.first(header.recipe_payload), recipe); !done)
    return done;
  if (literals.empty()) return {};
  return decompress(header.literal_method, payload.subspan(header.recipe_payload), literals);
}

}  // namespace millrace::dedup
