#include <cstdio>
#include <optional>
#include <string>
#include <zlib.h>

#include <millrace/stream/flow.h>

using millrace::stream::Kind;

int main() {
  auto stream =
      millrace::stream::source("read",
                               []() -> std::optional<std::string> {
                                 std::string block(1 << 18, '\0');
                                 block.resize(std::fread(block.data(), 1, block.size(), stdin));
                                 return block.empty() ? std::nullopt : std::optional(std::move(block));
                               })
          .stage(Kind::parallel, "compress",
                 [](const std::string& block) -> millrace::Result<std::string> {
                   uLongf size = compressBound(block.size());
                   std::string packed(size, '\0');
                   if (compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                                reinterpret_cast<const Bytef*>(block.data()), block.size()) != Z_OK)
                     return millrace::failure("a block of {} bytes cannot be compressed", block.size());
                   packed.resize(size);
                   return packed;
                 })
          .sink(Kind::serial_in_order, "write",
                [](const std::string& packed) { std::fwrite(packed.data(), 1, packed.size(), stdout); });
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().message.c_str()), 2;
  const auto finished = stream->run();
  if (!finished.status) return std::fprintf(stderr, "%s\n", finished.status.error().message.c_str()), 1;
  for (const auto& stage : finished.report.stages)
    std::fprintf(stderr, "%-10s %llu items\n", stage.name.c_str(),
                 static_cast<unsigned long long>(stage.items_in));
}
