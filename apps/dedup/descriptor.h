// An open file descriptor that closes itself, and waits on one that a stop ends.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <utility>

namespace millrace::dedup {

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
  ~Descriptor() { static_cast<void>(close()); }

  [[nodiscard]] int get() const { return fd_; }
  // Closes an owned descriptor now; returns errno if the system reports that written data was lost, else 0.
  [[nodiscard]] int close();
  [[nodiscard]] bool is_regular_file() const;

 private:
  Descriptor(int fd, bool owned) : fd_(fd), owned_(owned) {}
  int fd_ = -1;
  bool owned_ = false;
};

// What errno says, in words.
[[nodiscard]] std::string reason(int error);

// Lets a thread wait for a descriptor until the token is asked to stop. Thread-safe.
class StoppableWait {
 public:
  explicit StoppableWait(const std::stop_token& stop);
  StoppableWait(const StoppableWait&) = delete;
  StoppableWait& operator=(const StoppableWait&) = delete;

  // True once the descriptor can be read (written), has failed or was closed at the other end; false once
  // stopped.
  [[nodiscard]] bool until_readable(int fd) const;
  [[nodiscard]] bool until_writable(int fd) const;

 private:
  [[nodiscard]] bool until(int fd, short events) const;

  Descriptor event_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace millrace::dedup
