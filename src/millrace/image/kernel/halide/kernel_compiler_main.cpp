// The kernel compiler: the only program that contains Halide.
//
//   millrace-kernel-compiler                      serves requests on standard input until it ends
//   millrace-kernel-compiler FOLDER ISA...        compiles the kernels of all filters, for the build
//
// millrace starts it the first way, with one end of a socket as its standard input and output.
#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/descriptor/full_transfer.h"
#include "millrace/image/kernel/compiler_message.h"
#include "millrace/image/kernel/halide/built_in_compilation.h"
#include "millrace/image/kernel/halide/compile_object.h"
#include "millrace/image/kernel/program_identity.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace millrace;

namespace {

using image::MessageKind;

// If memory runs out, the system should kill this process before the work it serves.
void offer_memory() {
  const Descriptor file = Descriptor::owned(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file.is_open()) static_cast<void>(write_all(file.get(), std::as_bytes(std::span("1000", 4))));
}

std::vector<std::byte> answer_to(const image::Message& message) {
  const auto refusal = [](const Error& error) {
    return image::pack_message(MessageKind::refusal, error.message);
  };
  const auto request = image::parse_request(message.text());
  if (!request) return refusal(request.error());
  const auto object = image::compile_object(request->spec, request->isa);
  if (!object) return refusal(object.error());
  if (object->size() > image::most_message_bytes)
    return image::pack_message(MessageKind::refusal, "its machine code is too large");
  return image::pack_message(MessageKind::object, *object);
}

int serve() {
  offer_memory();
  // Output that libraries print must not get between the messages.
  const Descriptor output = Descriptor::owned(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!output.is_open() || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  const auto send = [&](std::span<const std::byte> message) {
    return write_all(output.get(), message).error == 0;
  };
  if (!send(image::pack_message(MessageKind::ready, image::program_identity()))) return 1;

  constexpr std::size_t step = 4096;
  std::vector<std::byte> received;
  while (true) {
    auto message = image::take_message(received);
    if (!message || (*message && (*message)->kind != MessageKind::request)) {
      std::fputs("millrace-kernel-compiler: what came on standard input is no request\n", stderr);
      return 2;
    }
    if (*message) {
      if (!send(answer_to(**message))) return 1;
      continue;
    }
    const std::size_t known = received.size();
    received.resize(known + step);
    ssize_t got = 0;
    while ((got = read(STDIN_FILENO, received.data() + known, step)) < 0 && errno == EINTR) {
    }
    if (got <= 0) return got == 0 ? 0 : 1;
    received.resize(known + static_cast<std::size_t>(got));
  }
}

int compile_ahead(int argc, char** argv) {
  std::vector<machine::Isa> isas;
  for (int i = 2; i < argc; ++i) {
    const auto isa = machine::parse_isa(argv[i]);
    if (!isa) {
      fmt::print(stderr, "millrace-kernel-compiler: {}\n", isa.error().message);
      return exit_code(isa.error());
    }
    isas.push_back(*isa);
  }
  const Status done = image::compile_built_in_kernels(argv[1], isas);
  if (done) return 0;
  fmt::print(stderr, "millrace-kernel-compiler: {}\n", done.error().message);
  return exit_code(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) return compile_ahead(argc, argv);
  if (argc == 1 && isatty(STDIN_FILENO) == 0) return serve();
  std::fputs("usage: millrace-kernel-compiler FOLDER ISA...; otherwise started by millrace\n", stderr);
  return 2;
}
