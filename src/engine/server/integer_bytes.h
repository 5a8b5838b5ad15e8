// How many bytes a column of integers has.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// The bytes of a column of this type; 0: the type is not one of integers.
inline uint8_t IntegerBytes(enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_TINY:
      return 1;
    case MYSQL_TYPE_SHORT:
      return 2;
    case MYSQL_TYPE_INT24:
      return 3;
    case MYSQL_TYPE_LONG:
      return 4;
    case MYSQL_TYPE_LONGLONG:
      return 8;
    default:
      return 0;
  }
}

}  // namespace rowsocket::engine::server
