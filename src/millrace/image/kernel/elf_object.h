// Loads a relocatable ELF object of x86-64 into this process: machine code that a compiler left in a file or
// in memory becomes functions that can be called. A linker and loader for what LLVM writes for pure
// functions, and for nothing else.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace millrace::image {

// Where objects can be loaded; elsewhere load() is always an Error.
#if defined(__x86_64__) && defined(__linux__)
inline constexpr bool can_load_objects = true;
#else
inline constexpr bool can_load_objects = false;
#endif

// Owns the memory of one loaded object. Its code may be called from any number of threads, but not beyond the
// life of this. What is loaded holds no state: code is mapped to be read and executed, all else to be read,
// and an object with variables is refused.
class ElfObject {
 public:
  // The address of a symbol that the object uses but does not define; nullptr where there is none.
  using Resolve = std::function<const void*(const std::string& name)>;

  // What the program itself and its shared libraries export, the C library among them.
  [[nodiscard]] static const void* exported(const std::string& name);

  // An Error for everything that is not a whole, well-formed object with known relocations, and where the
  // system refuses the memory. Nothing of the file is trusted but the meaning of its code: whether that may
  // be run is for the caller to know.
  [[nodiscard]] static Result<ElfObject> load(std::span<const std::byte> file,
                                              const Resolve& resolve = exported);

  ~ElfObject();
  ElfObject(ElfObject&& other) noexcept;
  ElfObject& operator=(ElfObject&& other) noexcept;

  // The function of that name; nullptr where the object defines none.
  [[nodiscard]] const void* function(std::string_view name) const;

 private:
  friend class ElfLoader;
  ElfObject(std::byte* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}

  std::byte* memory_ = nullptr;  // a mapping of its own, `bytes_` long
  std::size_t bytes_ = 0;
  std::map<std::string, const void*, std::less<>> functions_;
};

}  // namespace millrace::image
