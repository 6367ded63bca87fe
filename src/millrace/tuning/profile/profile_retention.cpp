#include "millrace/tuning/profile/profile_retention.h"

#include "millrace/tuning/profile/sqlite_statement.h"

#include <fmt/format.h>

namespace millrace::tuning {
namespace {

// Smaller amounts are not worth rewriting the file: the next profiles will use them.
constexpr std::int64_t least_free_pages = 32;
constexpr std::int64_t least_free_share = 4;  // at least one page in this many

std::int64_t pragma(sqlite3* database, const char* sql) {
  SqliteStatement statement(database, sql);
  return statement.step() == SQLITE_ROW ? statement.number(0) : 0;
}

}  // namespace

int forget_beyond(sqlite3* database, const ProfileLimits& limits, const std::string& kept) {
  // A future time of use, caused by a wrong clock, counts as now, because it would never expire. An older
  // version that saves to the same store sets only saved_at.
  SqliteStatement statement(
      database,
      "WITH uses AS (SELECT id, key, length(CAST(key AS BLOB)) + length(CAST(value AS BLOB)) AS size,"
      "  min(max(used_at, saved_at), strftime('%Y-%m-%d %H:%M:%f', 'now')) AS used,"
      "  CASE WHEN json_valid(key) AND json_extract(key, '$.build') IS NOT NULL"
      "    THEN json_remove(key, '$.build') ELSE id END AS work"
      "  FROM profiles),"
      " ranked AS (SELECT id, key, used,"
      "  row_number() OVER latest AS place,"
      "  sum(size) OVER (latest ROWS UNBOUNDED PRECEDING) AS bytes,"
      "  row_number() OVER (PARTITION BY work ORDER BY key = ?1 DESC, used DESC, id DESC) AS build"
      "  FROM uses WINDOW latest AS (ORDER BY key = ?1 DESC, used DESC, id DESC))"
      " DELETE FROM profiles WHERE id IN (SELECT id FROM ranked WHERE key <> ?1"
      "  AND (place > ?2 OR bytes > ?3 OR used < datetime('now', ?4) OR build > ?5))");
  statement.bind(1, kept);
  statement.bind(2, limits.profiles);
  statement.bind(3, limits.bytes);
  statement.bind(4, fmt::format("-{} days", limits.unused_days));
  statement.bind(5, limits.builds);
  return statement.step() == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(database);
}

void shrink(sqlite3* database) {
  const std::int64_t free = pragma(database, "PRAGMA freelist_count");
  if (free < least_free_pages || free * least_free_share < pragma(database, "PRAGMA page_count")) return;
  const std::int64_t patience = pragma(database, "PRAGMA busy_timeout");
  sqlite3_busy_timeout(database, 0);
  sqlite3_exec(database, "VACUUM", nullptr, nullptr, nullptr);
  sqlite3_busy_timeout(database, static_cast<int>(patience));
}

}  // namespace millrace::tuning
