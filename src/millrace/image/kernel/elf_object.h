// Loads a relocatable x86-64 ELF object into this process, so that machine code from a compiler, in a file or
// in memory, can be called. It links and loads only what LLVM generates for pure functions.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace millrace::image {

// Whether objects can be loaded on this platform. If not, load() always returns an Error.
#if defined(__x86_64__) && defined(__linux__)
inline constexpr bool can_load_objects = true;
#else
inline constexpr bool can_load_objects = false;
#endif

// Owns the memory of a loaded object. Its functions may be called from any number of threads while this
// exists. A loaded object has no state: code is mapped executable and everything else read-only, and an
// object with variables is refused.
class ElfObject {
 public:
  // Returns the address of a symbol that the object uses but does not define, or nullptr.
  using Resolve = std::function<const void*(const std::string& name)>;

  // Symbols exported by the program and its shared libraries, including the C library.
  [[nodiscard]] static const void* exported(const std::string& name);

  // Returns an Error if the file is not a complete, well-formed object with known relocations, or if the
  // system refuses the memory. The file's structure is not trusted, but its code is: the caller must know
  // that it is safe to run.
  [[nodiscard]] static Result<ElfObject> load(std::span<const std::byte> file,
                                              const Resolve& resolve = exported);

  ~ElfObject();
  ElfObject(ElfObject&& other) noexcept;
  ElfObject& operator=(ElfObject&& other) noexcept;

  // The function of that name, or nullptr.
  [[nodiscard]] const void* function(std::string_view name) const;

 private:
  friend class ElfLoader;
  ElfObject(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* memory_ = nullptr;  // a separate mapping of `bytes_` bytes
  std::size_t bytes_ = 0;
  std::map<std::string, const void*, std::less<>> functions_;
};

}  // namespace millrace::image
