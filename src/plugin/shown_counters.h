// The rows that SHOW STATUS gets from one plugin: a session's own copy, as the server reads the
// values after the function that made them has returned.
//
// Lifetime: until the next Clear; names are the caller's and must live as long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "api.h"

namespace rowsocket::plugin {

template <size_t kCount>
class ShownCounters {
 public:
  void Clear() { count_ = 0; }
  /// REQUIRES: at most kCount since Clear.
  void Add(const char* name, uint64_t value) {
    values_[count_] = value;
    variables_[count_] = {name, &values_[count_], SHOW_LONGLONG};
    ++count_;
  }
  void ShowIn(st_mysql_show_var* var) {
    variables_[count_] = {nullptr, nullptr, SHOW_UNDEF};
    var->type = SHOW_ARRAY;
    var->value = variables_.data();
  }

 private:
  size_t count_ = 0;
  std::array<st_mysql_show_var, kCount + 1> variables_{};
  std::array<ulonglong, kCount> values_{};
};

}  // namespace rowsocket::plugin
