// Where the SCANs of a port's clients have come to. The cursor that a client holds is the number of
// a position here, because the last key that was listed does not fit into 64 bits (docs/adr/0023).
//
// A client that comes with a cursor has the reply that brought it, so that the position before that
// one is forgotten then: a scan that goes on has two positions at most, however long it is. Where
// more than kRespCursorsMax positions are kept, the one that was used longest ago is forgotten.
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
    std::string space;  ///< What is scanned; a cursor of another space is not accepted.
    std::vector<std::optional<std::string>> key;  ///< The last key that was listed, by column.
  };

  RespCursors();

  /// The cursor for what comes behind the position; `before`: the cursor with which the client came
  /// here, 0 for none.
  uint64_t Keep(Position position, uint64_t before);
  /// False: there is no such position, or no more.
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
  std::list<Kept> kept_ GUARDED_BY(mutex_);  ///< The one that was used last is the first.
  std::unordered_map<uint64_t, Place> places_ GUARDED_BY(mutex_);
};

}  // namespace rowsocket::frontend
