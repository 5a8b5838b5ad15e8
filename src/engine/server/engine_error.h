// The errors of the server and of its engines, as clients of the protocols know them.
//
// Threads: any.
#pragma once

#include "model/error.h"

namespace rowsocket::engine::server {

/// The error for a number of the server or of an engine (1062 is 121, 1205 is 146 ...).
model::Error EngineError(int number);

}  // namespace rowsocket::engine::server
