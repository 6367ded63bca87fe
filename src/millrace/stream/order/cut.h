// Cut: where a stream ends before its source does.
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/item/token.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace millrace::stream {

// A sequence number, from the source's part down.
using SequenceNumber = std::vector<std::uint64_t>;
[[nodiscard]] SequenceNumber sequence_number(const Token& token);
// "12" or, for the fourth output of its split, "12.3".
[[nodiscard]] std::string to_string(const SequenceNumber& number);

// The least number at which a stage failed or ended the stream; items behind it are to be destroyed instead
// of entering another stage. What stems from the item of that number is not behind it. A stop puts every item
// behind.
//
// Whatever order things happen in, the outcome is that of one thread doing item after item: of several
// failures the first in the order of the source counts, and none that comes behind the stream's end.
//
// Where there is no memory to keep a number, give_up() does what a stop does, and the run fails.
//
// Thread-safe. Whoever has come to know of a cut through the turn of a stage sees it: is_made() is relaxed
// because the slots of InOrderStage order it.
class Cut {
 public:
  [[nodiscard]] bool is_made() const { return made_.load(std::memory_order_relaxed); }

  // Ends the stream at `number`, with an error or without. Nothing happens if that is behind an earlier cut.
  // `where`: what status() puts before the error's message. `thrown`: what the error was made of, if
  // anything.
  void make(SequenceNumber number, std::optional<Error> error, std::string where = {},
            std::exception_ptr thrown = nullptr);
  void stop();
  void give_up();

  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool puts_behind(const Token& token) const;

  // The error of the cut that counts; that of a stop, or of giving up, takes precedence. When the run is
  // over.
  [[nodiscard]] Status status() const;
  // The same without where it happened; an empty one if there is none.
  [[nodiscard]] Error cause() const;
  // What was thrown; null where nothing was, or something else takes precedence.
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
