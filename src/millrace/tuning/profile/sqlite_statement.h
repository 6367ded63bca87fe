// A prepared SQLite statement.
#pragma once

#include <cstdint>
#include <sqlite3.h>
#include <string>

namespace millrace::tuning {

// For the thread that uses the connection, which must outlive the statement. While the statement has a row,
// the connection has an open transaction.
class SqliteStatement {
 public:
  SqliteStatement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~SqliteStatement() { sqlite3_finalize(statement_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void bind(int index, std::int64_t number) { sqlite3_bind_int64(statement_, index, number); }
  // Returns SQLITE_ROW, SQLITE_DONE or an error, including errors from preparing the statement.
  int step() { return statement_ == nullptr ? SQLITE_MISUSE : sqlite3_step(statement_); }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::string text(int column) const {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace millrace::tuning
