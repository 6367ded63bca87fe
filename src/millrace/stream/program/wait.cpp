#include "millrace/stream/program/wait.h"

#include "millrace/base/error/clock.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/program/waits.h"

#include <new>
#include <utility>

namespace millrace::stream {

Wait::Wait(std::shared_ptr<Waits> waits, Token& token) : waits_(std::move(waits)), token_(&token) {}

Wait::~Wait() {
  if (is_over()) return;
  fail(error_from([] {
    return Error{ErrorKind::failure, "its continuation was destroyed before anybody had resumed it; resume, "
                                     "fail or drop every one"};
  }));
}

template <class Store> bool Wait::complete(Token::Outcome outcome, const Store& store) noexcept {
  const std::lock_guard lock(waits_->mutex_);
  if (phase_ == Phase::completed || phase_ == Phase::over) return false;
  store(*token_);
  token_->outcome = outcome;
  if (phase_ == Phase::called) {
    phase_ = Phase::completed;
    return true;
  }
  waits_->resume(*this);
  if (outcome == Token::Outcome::failure) waits_->sweep_locked();
  return true;
}

bool Wait::succeed(void (*build)(void* place, void* from) noexcept, void* from) noexcept {
  return complete(Token::Outcome::output, [&](Token& token) { build(token.other_area(), from); });
}

bool Wait::drop() noexcept {
  return complete(Token::Outcome::nothing, [](Token&) {});
}

bool Wait::fail(Error error, std::exception_ptr thrown) noexcept {
  // The cut is made first, before an in-order stage's turn leaves the item.
  return complete(Token::Outcome::failure,
                  [&](Token& token) { waits_->run_.fail_wait(token, std::move(error), std::move(thrown)); });
}

bool Wait::fail(std::exception_ptr thrown) noexcept {
  Error error;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    error = {ErrorKind::failure, "out of memory"};  // fits the string's internal buffer
  } catch (const std::exception& what) {
    error = error_from([&] { return Error{ErrorKind::failure, what.what()}; });
  } catch (...) {
    error = error_from([] { return Error{ErrorKind::failure, "an exception of unknown type"}; });
  }
  return fail(std::move(error), std::move(thrown));
}

bool Wait::is_over() const noexcept {
  const std::lock_guard lock(waits_->mutex_);
  return phase_ == Phase::completed || phase_ == Phase::over;
}

Waits::Waits(Run& run, std::size_t stages, bool traced) : run_(run), traced_(traced), stages_(stages) {}

void Waits::open(Resume resume) {
  const std::lock_guard lock(mutex_);
  resume_ = std::move(resume);
}

void Waits::close() noexcept {
  const std::lock_guard lock(mutex_);
  resume_ = nullptr;
  // Empty, unless the run was aborted and its items are lost.
  for (Wait* wait = std::exchange(first_, nullptr); wait; wait = wait->next_)
    wait->phase_ = Wait::Phase::over;
}

bool Waits::settle(Wait& wait, bool failed) noexcept {
  const std::lock_guard lock(mutex_);
  Token& token = *wait.token_;
  if (failed || wait.phase_ == Wait::Phase::completed) {
    wait.phase_ = Wait::Phase::over;
    return true;
  }
  // The item is after a cut made during the call. The sweep handles cuts made later.
  if (run_.gives_up(token)) {
    wait.phase_ = Wait::Phase::over;
    token.outcome = Token::Outcome::nothing;
    return true;
  }
  wait.phase_ = Wait::Phase::waiting;
  if (traced_) wait.since_ns_ = now_ns();
  ++stages_[token.position].waiting;
  wait.next_ = std::exchange(first_, &wait);
  if (wait.next_) wait.next_->previous_ = &wait;
  return false;
}

void Waits::resume(Wait& wait) noexcept {
  (wait.previous_ ? wait.previous_->next_ : first_) = wait.next_;
  if (wait.next_) wait.next_->previous_ = wait.previous_;
  wait.phase_ = Wait::Phase::over;
  OfStage& stage = stages_[wait.token_->position];
  --stage.waiting;
  if (traced_) stage.waited_s += seconds(now_ns() - wait.since_ns_);
  resume_(wait.token_);
}

void Waits::sweep_locked() noexcept {
  for (Wait* wait = first_; wait;) {
    Wait* const next = wait->next_;
    if (run_.gives_up(*wait->token_)) {
      wait->token_->outcome = Token::Outcome::nothing;
      resume(*wait);
    }
    wait = next;
  }
}

void Waits::sweep() noexcept {
  const std::lock_guard lock(mutex_);
  sweep_locked();
}

std::size_t Waits::waiting(std::size_t stage) const {
  const std::lock_guard lock(mutex_);
  return stages_[stage].waiting;
}

double Waits::waited_s(std::size_t stage) const {
  const std::lock_guard lock(mutex_);
  return stages_[stage].waited_s;
}

}  // namespace millrace::stream
