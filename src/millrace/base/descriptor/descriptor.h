// Descriptor: a file descriptor closed by its owner.
#pragma once

#include <utility>

namespace millrace {

// Owns a descriptor, or borrows one that it does not close (the standard streams). Move-only.
class Descriptor {
 public:
  Descriptor() = default;
  // A negative number, as returned by a failed system call, means no descriptor.
  [[nodiscard]] static Descriptor owned(int number) { return {number, true}; }
  [[nodiscard]] static Descriptor borrowed(int number) { return {number, false}; }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { static_cast<void>(close()); }

  // Negative if there is no descriptor.
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] bool is_regular_file() const;

  // Closes an owned descriptor and gives up a borrowed one. Returns the error number if the system reports
  // that written data was lost, else 0.
  int close();

 private:
  Descriptor(int number, bool owned) : number_(number), owned_(owned) {}
  int number_ = -1;
  bool owned_ = false;
};

}  // namespace millrace
