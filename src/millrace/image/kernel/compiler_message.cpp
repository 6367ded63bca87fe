#include "millrace/image/kernel/compiler_message.h"

#include "millrace/image/filter/formula_filter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <xxhash.h>

namespace millrace::image {
namespace {

// In the machine's byte order; both sides run on the same machine.
struct Header {
  std::array<char, 8> magic{'m', 'i', 'l', 'l', 'k', 'c', 'm', '1'};
  std::uint32_t kind = 0;
  std::uint32_t body_bytes = 0;
  std::uint64_t checksum = 0;  // of the body
};

}  // namespace

std::vector<std::byte> pack_message(MessageKind kind, std::span<const std::byte> body) {
  Header header;
  header.kind = static_cast<std::uint32_t>(kind);
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.checksum = XXH3_64bits(body.data(), body.size());
  std::vector<std::byte> packed(sizeof(header) + body.size());
  std::memcpy(packed.data(), &header, sizeof(header));
  std::ranges::copy(body, packed.begin() + sizeof(header));
  return packed;
}

std::vector<std::byte> pack_message(MessageKind kind, std::string_view text) {
  return pack_message(kind, std::as_bytes(std::span(text)));
}

Result<std::optional<Message>> take_message(std::vector<std::byte>& received) {
  Header header;
  const Header expected;
  if (received.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, received.data(), sizeof(header));
  if (header.magic != expected.magic || header.kind > static_cast<std::uint32_t>(MessageKind::refusal) ||
      header.body_bytes > most_message_bytes)
    return failure("the kernel compiler sent an invalid message");
  if (received.size() < sizeof(header) + header.body_bytes) return std::nullopt;
  const auto begin = received.begin() + sizeof(header);
  const auto end = begin + header.body_bytes;
  Message message{.kind = static_cast<MessageKind>(header.kind), .body = {begin, end}};
  received.erase(received.begin(), end);
  if (XXH3_64bits(message.body.data(), message.body.size()) != header.checksum)
    return failure("a message came damaged");
  return message;
}

std::string request_text(const KernelSpec& spec, machine::Isa isa) {
  std::string text = fmt::format("{} {}", machine::name_of(isa), spec.key());
  std::set<std::string_view> told;
  for (const KernelStage& stage : spec.stages) {
    const auto& formula = stage.filter->simple().formula;
    if (formula && told.insert(formula->identity()).second) text += '\n' + formula->text();
  }
  return text;
}

Result<CompilerRequest> parse_request(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return failure("no request to compile a kernel: '{}'", text);
  const auto isa = machine::parse_isa(text.substr(0, space));
  if (!isa) return std::unexpected(isa.error());
  std::string_view rest = text.substr(space + 1);
  const auto take_line = [&rest] {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    return line;
  };
  const std::string_view key = take_line();
  std::vector<FilterRef> own;
  while (!rest.empty()) {
    auto formula = Formula::parse(take_line());
    if (!formula) return std::unexpected(formula.error());
    own.push_back(nameless_filter(std::make_shared<const Formula>(std::move(*formula))));
  }
  auto spec = parse_kernel_spec(key, own);
  if (!spec) return std::unexpected(spec.error());
  return CompilerRequest{std::move(*spec), *isa};
}

}  // namespace millrace::image
