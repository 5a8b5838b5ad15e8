// SQL connections of another user than the sessions of an engine, for the contract suite in a
// server.
//
// Threads: a connection belongs to one thread at a time.
// Errors: Run and Value fail the running test; Try returns the server's error number.
#pragma once

#include <memory>
#include <string>

namespace rowsocket::plugin::contract {

class Sql {
 public:
  /// Connects as root without a password, through the server's socket.
  explicit Sql(const std::string& socket_path);
  ~Sql();
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  void Run(const std::string& query);
  /// Executes the statement. Returns the server's error number; 0 when the statement has succeeded.
  unsigned Try(const std::string& query);
  /// Executes the statement. Returns the first cell of the first row; an empty text for NULL and
  /// for no row.
  std::string Value(const std::string& query);

 private:
  struct Connection;
  unsigned Execute(const std::string& query, std::string* value);

  std::unique_ptr<Connection> connection_;
};

}  // namespace rowsocket::plugin::contract
