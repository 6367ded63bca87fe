#include "millrace/image/execute/granule_map.h"

#include "millrace/pool/futex.h"
#include "millrace/pool/spin.h"

#include <utility>

namespace millrace::image {
namespace {

constexpr int bits_of_word = 64;

int parts(int length, int part) { return (length + part - 1) / part; }

Size effective(Size granule, Size plane) {
  return {granule.width > 0 ? granule.width : plane.width,
          granule.height > 0 ? granule.height : plane.height};
}

std::size_t word_of(int index) { return static_cast<std::size_t>(index) / bits_of_word; }

// Counts a thread as sleeping during its lifetime.
class Sleeper {
 public:
  explicit Sleeper(std::atomic<int>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Sleeper() { count_.fetch_sub(1, std::memory_order_seq_cst); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

 private:
  std::atomic<int>& count_;
};

std::uint64_t bit_of(int index) { return std::uint64_t{1} << (index % bits_of_word); }

}  // namespace

GranuleMap::Claim::Claim(Claim&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)), index_(other.index_) {}

// Pixels written before a failure happen before those of the next worker that claims the granule: released
// here, acquired in claim().
GranuleMap::Claim::~Claim() {
  if (map_ == nullptr) return;
  map_->claimed_[word_of(index_)].fetch_and(~bit_of(index_), std::memory_order_seq_cst);
  map_->wake();
}

void GranuleMap::Claim::computed() {
  GranuleMap* const map = std::exchange(map_, nullptr);
  map->valid_[word_of(index_)].fetch_or(bit_of(index_), std::memory_order_seq_cst);
  map->wake();
}

// One thread changes a word and then checks for sleepers; the other registers as a sleeper and then checks
// the word. All four accesses are sequentially consistent, so at least one of the two sees the other's
// change.
void GranuleMap::wake() {
  if (sleep_->sleepers.load(std::memory_order_seq_cst) == 0) return;
  sleep_->ends.fetch_add(1, std::memory_order_seq_cst);
  pool::futex_wake_all(sleep_->ends);
}

GranuleMap::GranuleMap(Size plane, Size granule)
    : plane_(plane), granule_(effective(granule, plane)), columns_(parts(plane.width, granule_.width)),
      claimed_(parts(columns_ * parts(plane.height, granule_.height), bits_of_word)),
      valid_(claimed_.size()) {}

void GranuleMap::clear() {
  // No other thread reads between frames; the fork that starts the next frame publishes this.
  for (Words* words : {&claimed_, &valid_}) {
    for (auto& word : *words)
      word.store(0, std::memory_order_relaxed);
  }
}

bool GranuleMap::valid(int index) const {
  return (valid_[word_of(index)].load(std::memory_order_seq_cst) & bit_of(index)) != 0;
}

std::optional<GranuleMap::Claim> GranuleMap::claim(int index) {
  const std::uint64_t before = claimed_[word_of(index)].fetch_or(bit_of(index), std::memory_order_seq_cst);
  if ((before & bit_of(index)) != 0) return std::nullopt;
  return Claim(*this, index);
}

std::optional<GranuleMap::Claim> GranuleMap::await(int index) {
  constexpr std::int64_t awake_ns = 10'000;
  if (pool::spin_until([&] { return valid(index); }, awake_ns)) return std::nullopt;
  const Sleeper sleeper(sleep_->sleepers);
  for (;;) {
    // Read before the words, so that the futex wait fails if a granule ends after they are checked.
    const std::uint32_t ends = sleep_->ends.load(std::memory_order_seq_cst);
    if (valid(index)) return std::nullopt;
    if (std::optional<Claim> claimed = claim(index)) return claimed;
    pool::futex_wait(sleep_->ends, ends);
  }
}

Rect GranuleMap::touched(const Rect& rect) const {
  return {rect.x0 / granule_.width, rect.y0 / granule_.height, parts(rect.x1, granule_.width),
          parts(rect.y1, granule_.height)};
}

Rect GranuleMap::granule(int column, int row) const {
  const Rect rect{column * granule_.width, row * granule_.height, (column + 1) * granule_.width,
                  (row + 1) * granule_.height};
  return intersection(rect, whole(plane_));
}

}  // namespace millrace::image
