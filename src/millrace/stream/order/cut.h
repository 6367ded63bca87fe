// Cut: marks the item after which a stream ends early.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/item/token.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace millrace::stream {

// A sequence number, with the source's part first.
using SequenceNumber = std::vector<std::uint64_t>;
[[nodiscard]] SequenceNumber sequence_number(const Token& token);
// "12" or, for the fourth output of its split, "12.3".
[[nodiscard]] std::string to_string(const SequenceNumber& number);

// The lowest number at which a stage failed or ended the stream. Items after it are destroyed instead of
// entering another stage. Descendants of the item with that number are not after it. A stop puts every item
// after the cut.
//
// The result does not depend on timing; it is that of one thread processing item after item. With several
// failures, the first in source order counts, and failures after the stream's end do not count.
//
// If there is no memory to keep a number, give_up() acts like a stop, and the run fails.
//
// Thread-safe. A thread that learned of a cut through the turn of a stage also sees it. is_made() can be
// relaxed because the slots of InOrderStage provide the ordering.
class Cut {
 public:
  [[nodiscard]] bool is_made() const { return made_.load(std::memory_order_relaxed); }

  // Ends the stream at `number`, with or without an error. Does nothing if that is after an earlier cut.
  // `where`: prefix for the error's message in status(). `thrown`: the exception behind the error, if any.
  void make(SequenceNumber number, std::optional<Error> error, std::string where = {},
            std::exception_ptr thrown = nullptr);
  void stop();
  void give_up();

  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool puts_behind(const Token& token) const;

  // The error of the effective cut. A stop or giving up takes precedence. Call it after the run.
  [[nodiscard]] Status status() const;
  // The same without the location. Empty if there is no error.
  [[nodiscard]] Error cause() const;
  // The exception of the effective cut. Null if there was none or something else takes precedence.
  [[nodiscard]] std::exception_ptr exception() const;

 private:
  [[nodiscard]] bool puts_all_behind() const {
    return stopped() || given_up_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool puts_behind(const SequenceNumber& number) const;

  std::atomic<bool> made_ = false;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> given_up_ = false;
  mutable std::mutex mutex_;
  std::optional<SequenceNumber> at_;
  std::optional<Error> error_;
  std::string where_;
  std::exception_ptr thrown_;
};

}  // namespace millrace::stream
