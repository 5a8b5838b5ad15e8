// WATCH: a digest of what a key holds is noted, and compared before the commands of EXEC, when the
// unit holds the row's lock. A key that was changed and changed back counts as unchanged.
//
// Writes read the newest version without locking gaps, so that a key that was absent may exist when
// a command of the unit writes it: that command then stops the unit as well (MustBeAbsent). A write
// that meets no row and makes none locks nothing, so that the writes after it check as well, up to
// the first that makes the row. COPY counts as a write that makes the row, even if it finds nothing
// to copy: a row that appears between such a COPY and a later write is not noticed. A row is not
// noticed, either, that appears before a write which spells its key otherwise: a collation may take
// the key ABC for abc, and a server the table T for t, and this code does not know which texts are
// one key. Redis's WATCH cannot fail; here the table may be locked. A client that sends an EXEC
// before it has the reply to its WATCH relies on the watch, so that the EXEC after a WATCH that has
// failed is refused (kRespWatchFailed).
// Threads: any; the functions keep nothing.
// Errors: as in rows.h.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/buffer.h"
#include "engine/session.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

/// Why an EXEC is refused before anything of it is tried.
inline constexpr std::string_view kRespWatchFailed = "a WATCH before it has failed";

/// What a key held.
struct RespImage {
  /// False until the WATCH has run. If the WATCH has failed, its EXEC is refused.
  bool is_known = false;
  bool is_there = false;
  std::array<unsigned char, 32> digest{};  ///< SHA-256 of the cells.

  friend bool operator==(const RespImage&, const RespImage&) = default;
};

/// A WATCH notes the image of its key, and is answered. Within EXEC the outcome has 1 row if the
/// key equals its image, and otherwise 0 rows, which stops the unit.
engine::Outcome ExecuteWatch(RespWork& work, const RespCall& call, bool may_be_there,
                             engine::Session& session, base::Buffer& out);
/// Whether a WATCH in the same turn as the EXEC with these calls has failed.
bool HasFailedWatch(std::span<const RespCall> calls);
/// Marks the calls of a unit that must not meet a row, because their key was watched and absent.
void MarkAbsent(std::span<RespCall> calls);
inline bool MustBeAbsent(const RespCall& call) {
  const RespImage* const absent = call.watch.absent;
  return absent != nullptr && absent->is_known && !absent->is_there;
}
/// Makes the outcome of a call stop the unit if there is a row, although its key was watched and
/// absent.
inline void StopIfThere(const RespCall& call, bool is_there, engine::Outcome* outcome) {
  if (call.watch.absent != nullptr) outcome->rows = MustBeAbsent(call) && is_there ? 0 : 1;
}

}  // namespace rowsocket::frontend
