// HRANDFIELD: fields of a row, chosen at random.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/buffer.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// A name and a value.
using RespField = std::pair<std::string, std::string>;

/// Takes the arguments after the key. Returns an empty text, or an error.
std::string_view TakeRandomFields(RespCall& call, base::Arena& arena);
/// Appends the reply. False: it is larger than `bytes_max` bytes, and a part of it has been
/// appended at most.
bool AppendRandomFields(resp::Version version, const RespCall& call,
                        std::span<const RespField> fields, size_t bytes_max, base::Buffer* out);

}  // namespace rowsocket::frontend
