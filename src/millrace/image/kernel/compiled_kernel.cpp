#include "millrace/image/kernel/compiled_kernel.h"

#include "millrace/image/kernel/compiler_message.h"
#include "millrace/image/kernel/elf_object.h"

#include <bit>

namespace millrace::image {
namespace {

class LoadedKernel final : public Kernel {
 public:
  using Function = int (*)(void** arguments);

  LoadedKernel(const KernelSpec& spec, ElfObject object, Function function)
      : Kernel(spec), object_(std::move(object)), function_(function) {}

 private:
  int invoke(std::span<void*> arguments) const override { return function_(arguments.data()); }

  ElfObject object_;
  Function function_;
};

}  // namespace

Result<std::shared_ptr<const Kernel>> load_kernel(const KernelSpec& spec, std::span<const std::byte> object) {
  auto loaded = ElfObject::load(object);
  if (!loaded) return std::unexpected(loaded.error());
  const void* const address = loaded->function(object_entry);
  if (address == nullptr)
    return failure("the object of the fused kernel {} has no {}", spec.key(), object_entry);
  // Moving the object does not change the address, because the object owns a mapping.
  const auto function = std::bit_cast<LoadedKernel::Function>(address);
  return std::make_shared<LoadedKernel>(spec, std::move(*loaded), function);
}

}  // namespace millrace::image
