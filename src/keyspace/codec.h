// Several columns in one text, so that nothing is lost: the memcached value of a container with
// more than one value column, and the key if it has more than one key column.
//
//   text   := column { separator column }
//   column := "\N"  (NULL)  |  { byte | '\' separator | '\' '\' }
//
// A separator is neither a backslash nor N.
//
// Exactly one text stands for a row, so a backslash before anything else is refused.
//
// Threads: pure functions.
// Lifetime: parts are views of the text if nothing was escaped, of the arena otherwise.
#pragma once

#include <span>
#include <string_view>

#include "base/arena.h"
#include "base/buffer.h"
#include "model/value.h"

namespace rowsocket::keyspace {

/// Fills all of `parts`. False when the text has another number of columns, or a backslash before
/// another byte.
bool SplitColumns(std::string_view text, char separator, base::Arena& arena,
                  std::span<model::Value> parts);

/// Appends one column of a text; the caller appends the separator before it.
void AppendColumn(const model::Value& value, char separator, base::Buffer& out);

}  // namespace rowsocket::keyspace
