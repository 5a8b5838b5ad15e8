// The errors of the server and of its engines, as clients of the protocols know them.
//
// Threads: any.
#pragma once

#include "model/error.h"

namespace rowsocket::engine::server {

/// The error for a number of the server or of an engine. Numbers that mean the same give one error
/// (1062 and 121, 1205 and 146 ...).
model::Error EngineError(int number);

}  // namespace rowsocket::engine::server
