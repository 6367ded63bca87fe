// An open file descriptor that closes itself, and a signal that ends the waits on it.
#pragma once

#include <utility>

namespace millrace::video {

// Owns a descriptor, or borrows one (the standard streams) that it does not close.
class Descriptor {
 public:
  Descriptor() = default;
  [[nodiscard]] static Descriptor owned(int fd) { return {fd, true}; }
  [[nodiscard]] static Descriptor borrowed(int fd) { return {fd, false}; }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }

  // Closes an owned descriptor now; returns errno if the system reports that written data was lost, else 0.
  [[nodiscard]] int close();

 private:
  Descriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  int fd_ = -1;
  bool owned_ = false;
};

enum class Direction { in, out };

// Lets one thread wait for a descriptor and another end that wait, once and for all. Thread-safe.
class CancelSignal {
 public:
  CancelSignal();

  void cancel() const;

  // Until the descriptor can be read (written), has failed or was closed at the other end: true.
  // False once cancelled.
  [[nodiscard]] bool wait(int fd, Direction direction) const;

  [[nodiscard]] bool cancelled() const;

 private:
  Descriptor event_;
};

}  // namespace millrace::video
