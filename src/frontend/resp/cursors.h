// How far the SCANs of a port's clients have come. The cursor that a client holds is the number of
// a position here, because the last key that was listed does not fit into 64 bits (docs/adr/0023).
//
// A client that sends a cursor has received the reply with that cursor, so the position before it
// is forgotten: a scan has two positions at most, however long it is. When there are more than
// kRespCursorsMax positions, the one that was used longest ago is forgotten.
// Threads: any.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace rowsocket::frontend {

class RespCursors {
 public:
  struct Position {
    std::string space;  ///< Identifies what is scanned; a cursor of another space is not accepted.
    std::vector<std::optional<std::string>> key;  ///< The last key that was listed, by column.
  };

  RespCursors();

  /// Keeps a position, and returns its cursor. `before`: the cursor with which the client came
  /// here; 0: none.
  uint64_t Keep(Position position, uint64_t before);
  /// Finds the position of a cursor. False: there is none, or it was forgotten.
  bool Find(uint64_t cursor, Position* position);
  size_t size();

 private:
  struct Kept {
    uint64_t cursor = 0;
    uint64_t before = 0;
    Position position;
  };
  using Place = std::list<Kept>::iterator;

  void Forget(uint64_t cursor) REQUIRES(mutex_);

  base::Mutex mutex_;
  /// The next cursor. It begins with the seconds of the clock, so that a cursor of an earlier run
  /// of the server is not taken for one of this run, and is small enough for JavaScript's numbers.
  uint64_t next_ GUARDED_BY(mutex_);
  std::list<Kept> kept_ GUARDED_BY(mutex_);  ///< The one that was used last comes first.
  std::unordered_map<uint64_t, Place> places_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::frontend
