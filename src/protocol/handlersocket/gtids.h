// The transactions that `H at` asks about: `domain-server-number` as MariaDB writes them, or
// `uuid:first-last` as MySQL writes them, with commas between.
//
// Threads: any.
// Lifetime: the results lie in the arena, and their texts in the line.
#pragma once

#include <string_view>

#include "base/arena.h"
#include "model/error.h"
#include "protocol/handlersocket/parser.h"

namespace rowsocket::handlersocket {

/// Sets the transactions of `question`.
/// Errors: number, where the list is malformed; values_count, where it is too long.
model::ErrorCode ParseGtids(std::string_view list, base::Arena& arena, ServerQuestion* question);

}  // namespace rowsocket::handlersocket
