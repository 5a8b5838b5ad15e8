// A SQL session of the library itself: it is in no process list, and neither the logs nor audit
// plugins hear of its statements.
//
// Threads: any, one at a time. Lifetime: made at the first statement, which needs a server that has
// started.
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

  /// The first value of the first row; none where the statement fails or has no row.
  std::optional<std::string> Value(const std::string& statement);

 private:
  struct Connection;

  base::Mutex mutex_;
  std::unique_ptr<Connection> connection_ GUARDED_BY(mutex_);
};

/// The name between the quotes that no sql_mode changes.
std::string QuotedName(const std::string& name);

}  // namespace rowsocket::engine::server
