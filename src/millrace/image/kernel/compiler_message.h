// Messages between a program and its kernel compiler over a socket: a kind and a payload, with a checksum.
#pragma once

#include "millrace/base/error/result.h"
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

// The compiler begins with `ready`. It then answers each request with an object or a refusal, in order.
enum class MessageKind : std::uint32_t {
  ready,    // the compiler's identity (program_identity.h)
  request,  // what to compile, see request_text; includes the formulas of filters made at run time
  object,   // a relocatable object whose function object_entry is the kernel
  refusal,  // the reason why the kernel cannot be compiled, as text
};

// A longer message is an Error: the peer cannot be the kernel compiler.
inline constexpr std::size_t most_message_bytes = std::size_t{16} << 20;

// Name of the function in an object; `object_entry` is Halide's name for its one-argument form.
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

// Removes the first message from the bytes received so far. Returns nothing while it is incomplete, and an
// Error if the bytes cannot be the beginning of a message.
[[nodiscard]] Result<std::optional<Message>> take_message(std::vector<std::byte>& received);

struct CompilerRequest {
  KernelSpec spec;
  machine::Isa isa = machine::Isa::baseline;
};

[[nodiscard]] std::string request_text(const KernelSpec& spec, machine::Isa isa);
// Inverse of request_text. Returns an Error for any other text, or if it names a filter that is neither built
// in nor described in the text.
[[nodiscard]] Result<CompilerRequest> parse_request(std::string_view text);

}  // namespace millrace::image
