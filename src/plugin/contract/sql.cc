#include "plugin/contract/sql.h"

#include <gtest/gtest.h>

#include "sql_client.h"

namespace rowsocket::plugin::contract {

struct Sql::Connection {
  MYSQL* mysql = mysql_init(nullptr);
};

Sql::Sql(const std::string& socket_path) : connection_(std::make_unique<Connection>()) {
  MYSQL* mysql = connection_->mysql;
  const bool connected = mysql_real_connect(mysql, nullptr, "root", nullptr, nullptr, 0,
                                            socket_path.c_str(), 0) != nullptr;
  EXPECT_TRUE(connected) << mysql_error(mysql);
}

Sql::~Sql() { mysql_close(connection_->mysql); }

void Sql::Run(const std::string& query) {
  EXPECT_EQ(0u, Try(query)) << query << ": " << mysql_error(connection_->mysql);
}

unsigned Sql::Try(const std::string& query) {
  std::string ignored;
  return Execute(query, &ignored);
}

std::string Sql::Value(const std::string& query) {
  std::string value;
  EXPECT_EQ(0u, Execute(query, &value)) << query << ": " << mysql_error(connection_->mysql);
  return value;
}

unsigned Sql::Execute(const std::string& query, std::string* value) {
  MYSQL* mysql = connection_->mysql;
  if (mysql_real_query(mysql, query.data(), query.size()) != 0) return mysql_errno(mysql);
  MYSQL_RES* result = mysql_store_result(mysql);
  if (result == nullptr) return mysql_errno(mysql);
  const MYSQL_ROW row = mysql_fetch_row(result);
  if (row != nullptr && row[0] != nullptr) *value = row[0];
  mysql_free_result(result);
  return 0;
}

}  // namespace rowsocket::plugin::contract
