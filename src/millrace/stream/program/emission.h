// Emission: the outputs of one call of a stage's function.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/stream/item/item_type.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/item/port.h"
#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"
#include "millrace/stream/item/token_store.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace millrace::stream {

class Program;

// Outputs are kept until the call returns. A single output stays with the call's token, in the area not used
// by its input, so a one-to-one stage creates no tokens. Each thread has one Emission and reuses it for every
// call.
class MILLRACE_EXPORT Emission {
 public:
  // most_outputs: maximum for one call. The call fails if it emits more.
  Emission(const Program& program, TokenStore::Cache& tokens, std::size_t most_outputs)
      : program_(&program), tokens_(&tokens), most_outputs_(most_outputs) {}

  // Starts a call on the item of `token`. Its outputs go to stage `next` by default.
  void begin(Token& token, std::uint32_t next) {
    token_ = &token;
    next_ = next;
    count_ = 0;
    ends_stream_ = false;
  }

  // For the stage's function: raw memory for one more output, sent to stage `destination`. The output exists
  // once commit() is called. Only one output may be under construction at a time.
  [[nodiscard]] void* place(std::uint32_t destination) {
    if (count_ == 0) {
      first_destination_ = destination;
      return token_->other_area();
    }
    return place_further(destination);
  }
  [[nodiscard]] void* place() { return place(next_); }
  void commit() {
    if (count_++ != 0) children_.back()->has_item = true;
  }
  // The stage of a port. Throws std::logic_error if it is not after the call's stage.
  [[nodiscard]] std::uint32_t port_destination(const PortPlace& port) const;
  // Ends the stream after this item's outputs.
  void end_stream() { ends_stream_ = true; }
  // Marks the call as failed.
  void fail(Error error) {
    error_ = std::move(error);
    failed_ = true;
  }

  // Marks the call as failed by an exception with the message `what`.
  void fail(const char* what, std::exception_ptr thrown) noexcept {
    fail(error_from([&] { return Error{ErrorKind::failure, what}; }));
    thrown_ = std::move(thrown);
  }

  // For the runtime, after the call. Several outputs are in children(). If that is empty, the single one is
  // in the token's other area.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint32_t first_destination() const { return first_destination_; }
  [[nodiscard]] bool ends_stream() const { return ends_stream_; }
  [[nodiscard]] bool failed() const { return failed_; }
  // The error of a failed call. Resets the failure.
  [[nodiscard]] Error take_error() {
    failed_ = false;
    return std::move(error_);
  }
  // The exception that the call threw. Null if it reported an error instead.
  [[nodiscard]] std::exception_ptr take_exception() { return std::exchange(thrown_, nullptr); }
  // The outputs, each with its item and position. The runtime takes them from this list.
  [[nodiscard]] TokenList& children() { return children_; }
  // Destroys the outputs.
  void discard();

 private:
  [[nodiscard]] void* place_further(std::uint32_t destination);
  [[nodiscard]] Token* new_child(std::uint32_t destination);

  const Program* program_;
  TokenStore::Cache* tokens_;
  std::size_t most_outputs_;
  Token* token_ = nullptr;
  std::uint32_t next_ = 0;
  std::uint32_t first_destination_ = 0;
  std::size_t count_ = 0;
  bool ends_stream_ = false;
  bool failed_ = false;
  Error error_;
  std::exception_ptr thrown_;
  // Empty if there is at most one output.
  TokenList children_;
};

}  // namespace millrace::stream
