// WATCH: what a key holds is noted as a digest, and compared before the commands of EXEC, whose
// unit holds the row's lock by then. A key that was changed and changed back counts as unchanged.
//
// Writes read the newest version without locking gaps, so that a key that was absent may be there
// when a command of the unit writes it: that command then stops the unit as well (MustBeAbsent). A
// write that meets no row and makes none locks nothing, so that the writes behind it stop the unit
// as well, up to the first that makes the row. COPY counts as one, also where it finds nothing to
// copy: a row that appears between such a COPY and a write behind it is not seen.
// Redis's WATCH cannot fail; here the table may be locked. Clients that send an EXEC behind a WATCH
// before they have its reply count on the watch, so that the EXEC behind a WATCH that has failed is
// refused (kRespWatchFailed).
// Threads: const, any. Errors: as rows.h.
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
  /// False until the WATCH has run; where the WATCH has failed, its EXEC is refused.
  bool is_known = false;
  bool is_there = false;
  std::array<unsigned char, 32> digest{};  ///< SHA-256 of the cells.

  friend bool operator==(const RespImage&, const RespImage&) = default;
};

/// WATCH notes the image of its key and answers. Within EXEC the outcome has 1 row where the key is
/// as its image, and 0 rows where it is not, which stops the unit.
engine::Outcome ExecuteWatch(RespWork& work, const RespCall& call, bool may_be_there,
                             engine::Session& session, base::Buffer& out);
/// Whether a WATCH has failed that was in the turn of the EXEC that has these calls.
bool HasFailedWatch(std::span<const RespCall> calls);
/// Finds the calls of a unit that must not meet a row where its key was watched and absent.
void MarkAbsent(std::span<RespCall> calls);
inline bool MustBeAbsent(const RespCall& call) {
  return call.absent != nullptr && call.absent->is_known && !call.absent->is_there;
}
/// The outcome of a call of a key that was watched and absent stops the unit where there is a row.
inline void StopIfThere(const RespCall& call, bool is_there, engine::Outcome* outcome) {
  if (call.absent != nullptr) outcome->rows = MustBeAbsent(call) && is_there ? 0 : 1;
}

}  // namespace rowsocket::frontend
