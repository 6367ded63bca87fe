// Descriptor: the number of an open file, closed by its owner.
#pragma once

#include <utility>

namespace millrace {

// Owns a descriptor, or borrows one (the standard streams) that it does not close. Moved, not copied.
class Descriptor {
 public:
  Descriptor() = default;
  // Negative, as failed system calls return it, for none.
  [[nodiscard]] static Descriptor owned(int number) { return {number, true}; }
  [[nodiscard]] static Descriptor borrowed(int number) { return {number, false}; }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { static_cast<void>(close()); }

  // Negative where there is none.
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] bool is_regular_file() const;

  // Gives it up now. An owned one is closed: the error number if the system says that written data was lost,
  // else 0.
  int close();

 private:
  Descriptor(int number, bool owned) : number_(number), owned_(owned) {}
  int number_ = -1;
  bool owned_ = false;
};

}  // namespace millrace
