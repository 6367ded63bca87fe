// Emission: what one call of a stage's function hands on.
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

// Outputs are kept until the call returns. A single one stays with the call's token, in the area where its
// input is not, so that a stage that emits one for one makes no token. One a thread, used again for every
// call.
class MILLRACE_EXPORT Emission {
 public:
  // most_outputs: of one call, which fails with more.
  Emission(const Program& program, TokenStore::Cache& tokens, std::size_t most_outputs)
      : program_(&program), tokens_(&tokens), most_outputs_(most_outputs) {}

  // Starts over for a call on the item of `token`, whose outputs go to stage `next` unless they say
  // otherwise.
  void begin(Token& token, std::uint32_t next) {
    token_ = &token;
    next_ = next;
    count_ = 0;
    ends_stream_ = false;
  }

  // For the stage's function: raw memory for one more output, bound for stage `destination`. The output
  // exists once commit() is called; between the two nothing else may be.
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
  // Resolves the stage of a port; throws std::logic_error when it is not behind the call's stage.
  [[nodiscard]] std::uint32_t port_destination(const PortPlace& port) const;
  // Nothing behind this item's outputs is to go on.
  void end_stream() { ends_stream_ = true; }
  // The call failed.
  void fail(Error error) {
    error_ = std::move(error);
    failed_ = true;
  }

  // The call threw what says so of itself.
  void fail(const char* what, std::exception_ptr thrown) noexcept {
    fail(error_from([&] { return Error{ErrorKind::failure, what}; }));
    thrown_ = std::move(thrown);
  }

  // For the runtime, after the call. Several outputs are children(); a single one, if that is empty, is in
  // the token's other area.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint32_t first_destination() const { return first_destination_; }
  [[nodiscard]] bool ends_stream() const { return ends_stream_; }
  [[nodiscard]] bool failed() const { return failed_; }
  // Of a call that failed; it counts as not failed from then on.
  [[nodiscard]] Error take_error() {
    failed_ = false;
    return std::move(error_);
  }
  // What it threw; null where it told its failure.
  [[nodiscard]] std::exception_ptr take_exception() { return std::exchange(thrown_, nullptr); }
  // Each with its item and position; to be taken over.
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
  // Empty while there is one output or none.
  TokenList children_;
};

}  // namespace millrace::stream
