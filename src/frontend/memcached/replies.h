// Replies that need no row: errors, version, stats, and the like.
//
// Threads: any; nothing is kept.
#pragma once

#include <string>

#include "base/buffer.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"
#include "model/error.h"

namespace rowsocket::frontend {

/// The reply to a command that was not executed.
void AppendReply(MemcachedShared& shared, const MemcachedWork& work, const model::Account* account,
                 base::Buffer& out);

/// `SERVER_ERROR <why>`.
void AppendEngineError(const memcached::Command& command, const model::Error& error,
                       base::Buffer& out);

/// The status of a binary reply for an error of the engine.
memcached::BinaryStatus StatusOf(const model::Error& error);

/// The meaning of an error of the engine, for people.
std::string Explain(const model::Error& error);

/// The reply to `stats [argument]` (stats.cc). `account`: the connection's; null: it has all
/// rights.
void AppendStats(MemcachedShared& shared, const MemcachedWork& work, const model::Account* account,
                 base::Buffer& out);

}  // namespace rowsocket::frontend
