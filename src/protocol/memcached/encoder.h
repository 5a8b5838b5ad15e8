// Writes replies in the dialect of the command that they answer.
//
// Flow, by verb (the functions write nothing if the command is quiet about the outcome):
//
//   kGet, kGat        (AppendHit | AppendMiss) for each key, in order; then AppendGetEnd
//   kTouch            AppendTouched | AppendNotFound
//   kSet .. kPrepend  AppendStored | AppendNotStored | AppendExists | AppendNotFound
//   kDelete           AppendDeleted | AppendExists | AppendNotFound
//   kIncrement/kDecr. AppendNumber | AppendNotFound | AppendExists | AppendNotStored (guard)
//   kFlushAll, kVerbosity, kNoop, kQuit: AppendOk      kVersion: AppendVersion
//   kStats            AppendStat*, AppendStatsEnd | AppendReset | AppendOk (detail on|off)
//   kMetaDebug        AppendMetaDebug | AppendMiss
//   any               AppendError | AppendServerError
//
// Threads: none of their own.
// Lifetime: no argument is kept.
// Limits: a reply without its value, its key and its error text is below 300 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "protocol/memcached/command.h"

namespace rowsocket::memcached {

/// The facts about an item that a reply may have. Only the facts that the command asks for need to
/// be set: Command::returns_value, returns_cas, meta.returns.
struct Item {
  std::string_view value;
  uint32_t client_flags = 0;
  uint64_t cas = 0;            ///< 0: the container has no cas.
  int64_t ttl_s = -1;          ///< t: seconds left to live, -1 for ever.
  uint64_t size = 0;           ///< s: the value's bytes, even if the value itself is not returned.
  bool was_fetched = true;     ///< h: the item was fetched before.
  uint32_t last_access_s = 0;  ///< l: seconds since the last access.
  bool won = false;            ///< W: this client is to renew the item.
  bool stale = false;          ///< X: the item is stale.
  bool won_by_other = false;   ///< Z: another client has been told to renew the item.
};

void AppendHit(const Command& command, std::string_view key, const Item& item, base::Buffer* out);
void AppendMiss(const Command& command, std::string_view key, base::Buffer* out);
/// `END` of a text get; no bytes in the other dialects.
void AppendGetEnd(const Command& command, base::Buffer* out);

/// `item`: cas and, for meta, size. (Binary replies carry the new cas.)
void AppendStored(const Command& command, const Item& item, base::Buffer* out);
/// The answer to add if there is an item, to replace, append and prepend if there is none, and to a
/// guard that was not met.
void AppendNotStored(const Command& command, base::Buffer* out);
void AppendExists(const Command& command, base::Buffer* out);
void AppendNotFound(const Command& command, base::Buffer* out);
void AppendDeleted(const Command& command, base::Buffer* out);
/// `item`: client_flags, cas (binary touch answers the flags).
void AppendTouched(const Command& command, const Item& item, base::Buffer* out);
/// The number after incr or decr. `item`: cas; ttl_s for meta. The value is written from `number`.
void AppendNumber(const Command& command, uint64_t number, const Item& item, base::Buffer* out);

void AppendOk(const Command& command, base::Buffer* out);
void AppendVersion(const Command& command, std::string_view version, base::Buffer* out);
void AppendStat(const Command& command, std::string_view name, std::string_view value,
                base::Buffer* out);
void AppendStat(const Command& command, std::string_view name, uint64_t value, base::Buffer* out);
void AppendStatsEnd(const Command& command, base::Buffer* out);
/// `stats reset`.
void AppendReset(const Command& command, base::Buffer* out);
/// `ME <key> <name>=<value>...`; `details` is the text after the key.
void AppendMetaDebug(const Command& command, std::string_view details, base::Buffer* out);

/// Appends nothing if memcached is silent: see spec/memcached.md, "Quiet". REQUIRES: error !=
/// kNone.
void AppendError(const Command& command, Error error, base::Buffer* out);
/// `SERVER_ERROR <why>`; silent only after noreply, because the client then reads no reply. `why`
/// is cut to one line of at most kMemcachedErrorBytesMax.
void AppendServerError(const Command& command, BinaryStatus status, std::string_view why,
                       base::Buffer* out);

}  // namespace rowsocket::memcached
