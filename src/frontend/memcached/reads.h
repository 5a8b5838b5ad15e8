// get, gets and mg: finds whose cells go straight into the reply.
//
// Threads: the session's.
// Errors: an outcome that is not ok leaves a part of the reply in `out`, which the caller takes
// back.
#pragma once

#include <string_view>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"
#include "model/limits.h"
#include "protocol/memcached/encoder.h"

namespace rowsocket::frontend {

/// Executes a kGet without `creates`: one find for each key, in the session's turn.
engine::Outcome ExecuteGet(MemcachedShared& shared, MemcachedWork& work,
                           const model::Account* account, engine::Session& session,
                           base::Buffer& out);

/// How many bytes of values one command may read, which may be more than it answers: items that
/// have expired are read, too.
inline size_t BytesReadMax(const MemcachedShared& shared) {
  return shared.settings.limits.reply_bytes_max + model::kReadBytesMax;
}
static_assert(model::kReadBytesMax == size_t{256} << 20, "the text names the limit");
inline constexpr std::string_view kReadsTooMuch =
    "a get reads values of at most 256 MiB and daemon_memcached_reply_max_bytes: ask for fewer "
    "keys";

/// Reads the cas of the row in the session's turn; `*cas` is unchanged when there is no row.
engine::Outcome ReadCas(const MemcachedTarget& target, engine::Session& session, uint64_t* cas);
/// Whether a reply to this command has the cas.
bool TellsCas(const memcached::Command& command);

/// The moment to which the times in a reply refer.
struct MemcachedMoment {
  int64_t now_ms;
  int64_t ttl_s;  ///< The time that R compares with; -1: never expires.
};

/// Fills in what a meta reply says about an item beyond its row, and marks that the item was read
/// or won. REQUIRES: `item->cas` is the item's cas.
void TellMarks(MemcachedShared& shared, const MemcachedWork& work, const MemcachedTarget& target,
               MemcachedMoment moment, memcached::Item* item);
/// Marks the item as read, if the command counts as an access.
void MarkRead(const memcached::Command& command, int64_t now_ms, MemcachedMark* mark);
/// Whether a reply to this command shows any mark.
bool TellsMarks(const MemcachedShared& shared, const memcached::Command& command);

}  // namespace rowsocket::frontend
