// A SQL session of the library itself, which is in no process list, and whose statements reach
// neither the logs nor audit plugins.
//
// Threads: any, one at a time.
// Lifetime: made at the first statement, which needs a server that has started.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"

namespace rowsocket::engine::server {

class LocalSql {
 public:
  LocalSql();
  ~LocalSql();
  LocalSql(const LocalSql&) = delete;
  LocalSql& operator=(const LocalSql&) = delete;

  /// Executes the statement, which waits for locks of tables for a few seconds. Returns the first
  /// value of its first row; none if it fails or has no row, or if that value is NULL.
  std::optional<std::string> Value(const std::string& statement);

 private:
  struct Connection;

  base::Mutex mutex_;
  std::unique_ptr<Connection> connection_ GUARDED_BY(mutex_);
};

/// The name between backticks, which quote names in every sql_mode.
std::string QuotedName(const std::string& name);

}  // namespace rowsocket::engine::server
