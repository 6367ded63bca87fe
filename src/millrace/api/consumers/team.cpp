// A parallel loop on the workers of a pool.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <millrace/pool/for_range.h>
#include <millrace/pool/worker_pool.h>

using namespace millrace;

int main() {
  const auto pool = pool::WorkerPool::create(2);
  if (!pool) return std::fprintf(stderr, "%s\n", pool.error().message.c_str()), 1;
  pool::PoolTeam team = (*pool)->team();
  std::vector<std::int64_t> sums(2);
  const Status done = pool::for_range(team, 0, 1000, pool::Partition::static_, 1,
                                      [&](std::int64_t begin, std::int64_t end, int rank) {
                                        for (std::int64_t i = begin; i < end; ++i)
                                          sums[static_cast<std::size_t>(rank)] += i * i;
                                      });
  if (!done) return 1;
  std::printf("%lld\n", static_cast<long long>(sums[0] + sums[1]));
}
