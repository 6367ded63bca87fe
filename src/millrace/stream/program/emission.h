// Emission: the outputs of one call of a stage's function.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
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

// Outputs are kept until the call returns, or until there are so many that some must go on before. A single
// output stays with the call's token, in the area not used by its input, so a one-to-one stage creates no
// tokens. Each thread has one Emission and reuses it for every call.
class MILLRACE_EXPORT Emission {
 public:
  // Decides what becomes of many outputs.
  class Relay {
   public:
    // Called before the call of `emission` makes another output, if it keeps `batch` outputs or more. Takes
    // children and returns when there is room for a batch more, or leaves them there. May throw, which fails
    // the call.
    virtual void hand_on(Emission& emission) = 0;

   protected:
    Relay() = default;
    ~Relay() = default;
    Relay(const Relay&) = default;
    Relay& operator=(const Relay&) = default;
  };

  Emission(const Program& program, TokenStore::Cache& tokens, Relay& relay, std::size_t batch)
      : program_(&program), tokens_(&tokens), relay_(&relay), batch_(batch) {}

  // Starts a call on the item of `token`. Its outputs go to stage `next` by default.
  void begin(Token& token, std::uint32_t next) {
    token_ = &token;
    next_ = next;
    count_ = 0;
    handed_on_ = 0;
    away_ns_ = 0;
    given_up_ = false;
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
  // The stage that the port leads to. Throws std::logic_error unless it comes after the calling stage.
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

  // For the runtime, after the call. Several outputs are in children(). If that is empty and none was handed
  // on, the single one is in the token's other area.
  [[nodiscard]] std::size_t count() const { return count_; }
  // How many of them have gone on already.
  [[nodiscard]] std::size_t handed_on() const { return handed_on_; }
  // The part of the call that was spent on other tokens, if the run is traced.
  [[nodiscard]] std::int64_t away_ns() const { return away_ns_; }
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
  // Marks the call as ended because nobody wants its outputs.
  void give_up() { given_up_ = true; }
  [[nodiscard]] bool is_given_up() const { return given_up_; }
  // Destroys the outputs that have not gone on.
  void discard();

  // For a Relay: the token of the call.
  [[nodiscard]] Token& token() { return *token_; }
  // How many children there are.
  [[nodiscard]] std::size_t kept() const { return count_ - handed_on_; }
  // Takes the first `count` children.
  [[nodiscard]] TokenList take_children(std::size_t count) {
    TokenList taken;
    for (handed_on_ += count; count != 0; --count)
      taken.push_back(children_.pop_front());
    return taken;
  }
  // Lets the thread make other calls for the lifetime of this object.
  class Suspended {
   public:
    explicit Suspended(Emission& emission)
        : emission_(&emission), token_(emission.token_), next_(emission.next_), count_(emission.count_),
          handed_on_(emission.handed_on_), ends_stream_(emission.ends_stream_), away_ns_(emission.away_ns_),
          children_(std::exchange(emission.children_, {})) {}
    ~Suspended() {
      emission_->begin(*token_, next_);
      emission_->count_ = count_;
      emission_->handed_on_ = handed_on_;
      emission_->children_ = std::move(children_);
      emission_->ends_stream_ = ends_stream_;
      emission_->away_ns_ = away_ns_;
    }
    Suspended(const Suspended&) = delete;
    Suspended& operator=(const Suspended&) = delete;
    void was_away(std::int64_t duration_ns) { away_ns_ += duration_ns; }

   private:
    Emission* emission_;
    Token* token_;
    std::uint32_t next_;
    std::size_t count_;
    std::size_t handed_on_;
    bool ends_stream_;
    std::int64_t away_ns_;
    TokenList children_;
  };

 private:
  [[nodiscard]] void* place_further(std::uint32_t destination);
  [[nodiscard]] Token* new_child(std::uint32_t destination);

  const Program* program_;
  TokenStore::Cache* tokens_;
  Relay* relay_;
  std::size_t batch_;
  Token* token_ = nullptr;
  std::uint32_t next_ = 0;
  std::uint32_t first_destination_ = 0;
  std::size_t count_ = 0;
  std::size_t handed_on_ = 0;
  std::int64_t away_ns_ = 0;
  bool given_up_ = false;
  bool ends_stream_ = false;
  bool failed_ = false;
  Error error_;
  std::exception_ptr thrown_;
  // Empty if there is at most one output, and if all have gone on.
  TokenList children_;
};

}  // namespace millrace::stream
