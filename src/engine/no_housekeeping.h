// Why a server does not do the work that one server of its cluster does for all: to remove what has
// expired, and to carry out delayed flushes.
//
// Lifetime: the text is static.
#pragma once

#include <string_view>

namespace rowsocket::engine {

struct NoHousekeeping {
  /// In words for clients and the log, with the variable to set if there is one. Empty: the server
  /// does the work.
  std::string_view why;
  /// The reason may pass by itself within seconds, as when the cluster elects a primary: work that
  /// is due is put off. Otherwise another server does the work.
  bool may_pass = false;
};

}  // namespace rowsocket::engine
