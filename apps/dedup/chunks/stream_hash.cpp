#include "dedup/chunks/stream_hash.h"

#include <new>
#include <xxhash.h>

namespace millrace::dedup {

void StreamHash::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

StreamHash::StreamHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void StreamHash::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

StreamCheck StreamHash::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {hash.low64, hash.high64};
}

}  // namespace millrace::dedup
