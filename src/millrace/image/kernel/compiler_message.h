// What a program and its kernel compiler say to each other through a socket: messages of a kind and some
// bytes, with a checksum.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/machine/processor/isa.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// The compiler begins with `ready`. Then each request is answered by an object or a refusal, in their order.
enum class MessageKind : std::uint32_t {
  ready,    // the compiler's identity (program_identity.h)
  request,  // what to compile, see request_text; its filters that were made at run time among it
  object,   // a relocatable object whose function object_entry is the kernel
  refusal,  // why the kernel cannot be compiled, as text
};

// A longer message is an Error: whoever sends it is not whom it is thought to be.
inline constexpr std::size_t most_message_bytes = std::size_t{16} << 20;

// The function in an object; `object_entry` is Halide's name for its form with one argument.
inline constexpr const char* object_function = "millrace_kernel";
inline constexpr const char* object_entry = "millrace_kernel_argv";

struct Message {
  MessageKind kind = MessageKind::ready;
  std::vector<std::byte> body;

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
  }
};

[[nodiscard]] std::vector<std::byte> pack_message(MessageKind kind, std::span<const std::byte> body);
[[nodiscard]] std::vector<std::byte> pack_message(MessageKind kind, std::string_view text);

// Takes the first message off what was received so far; nothing while it is not whole. An Error where that
// cannot be the beginning of a message.
[[nodiscard]] Result<std::optional<Message>> take_message(std::vector<std::byte>& received);

struct CompilerRequest {
  KernelSpec spec;
  machine::Isa isa = machine::Isa::baseline;
};

[[nodiscard]] std::string request_text(const KernelSpec& spec, machine::Isa isa);
// The inverse. An Error for what is no such text, and where this program has no filter of a name in it and it
// is not told either.
[[nodiscard]] Result<CompilerRequest> parse_request(std::string_view text);

}  // namespace millrace::image
