// The answers to what tools ask about messages, modules, replicas and snapshots, of which a RESP
// port has none: those of a Redis without them.
//
// Threads: pure functions, but for the clock.
#pragma once

#include "base/buffer.h"
#include "frontend/resp/command.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

/// Appends the reply to LASTSAVE, MODULE, PUBSUB, UNSUBSCRIBE and its kin, and WAIT. False: the
/// command is none of these.
bool AppendEmptyAnswer(RespVerb verb, RespArguments arguments, resp::Version version,
                       base::Buffer& out);

}  // namespace rowsocket::frontend
