// No file may crash the loader. The file is a real kernel with the changes listed in the input, because most
// other files fail the first checks.
#include "millrace/image/kernel/compiled_kernel.h"
#include "millrace/image/kernel/elf_object.h"
#include "millrace/image/kernel/kernel_testing.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::byte> kernel() {
  using namespace millrace;
  auto object = image::object_of(image::kernel_chain({"rotate", "discretise"}), machine::Isa::baseline);
  require(!object.empty());
  return object;
}

}  // namespace

// The first byte of the input is the number of bytes to truncate. Each change is a position of two bytes and
// a value of one byte.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> whole = kernel();
  if (size == 0) return 0;
  std::vector<std::byte> file = whole;
  constexpr std::size_t change_bytes = 3;
  for (std::size_t i = 1; i + change_bytes <= size; i += change_bytes) {
    const std::size_t place = data[i] + std::size_t{256} * data[i + 1];
    // Counted from the end, where the tables are.
    file[file.size() - 1 - place % file.size()] = std::byte{data[i + 2]};
  }
  file.resize(file.size() - std::min<std::size_t>(data[0], file.size()));
  const auto loaded = millrace::image::ElfObject::load(file);
  require(loaded || !loaded.error().message.empty());
  return 0;
}
