#include "millrace/base/descriptor/descriptor.h"

#include <cerrno>
#include <unistd.h>

#include <sys/stat.h>

namespace millrace {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
    owned_ = other.owned_;
  }
  return *this;
}

int Descriptor::close() {
  const int number = std::exchange(number_, -1);
  if (!owned_ || number < 0) return 0;
  // Do not retry on EINTR: Linux has already closed the descriptor.
  return ::close(number) == 0 || errno == EINTR ? 0 : errno;
}

bool Descriptor::is_regular_file() const {
  struct stat status{};
  return fstat(number_, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace millrace
