// One execution of a unit of RESP: its calls in their order, and their replies.
//
// Flow: exec::ExecuteUnit calls ExecuteOne and Run, and Run again if the unit begins anew.
// Threads: one.
// Lifetime: as long as one RespFrontend::ExecuteUnit.
// Limits: kReadBytesMax bytes of values that are read besides those of the replies, to change them,
// too, or that SETRANGE and APPEND make: otherwise 10,000 STRLENs of one long string would read it
// 10,000 times, and answer a few bytes. A value that is deleted with its key does not count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "engine/session.h"
#include "exec/unit.h"
#include "frontend/resp/work.h"

namespace rowsocket::frontend {

class RespUnitRun {
 public:
  /// The replies begin at the end of `out`, and have at most `bytes_max` bytes in all.
  RespUnitRun(RespWork& work, exec::Unit& unit, engine::Session& session, size_t bytes_max,
              base::Buffer& out);
  ~RespUnitRun() { work_.moved = nullptr; }
  RespUnitRun(const RespUnitRun&) = delete;
  RespUnitRun& operator=(const RespUnitRun&) = delete;

  bool has_failed_watch() const { return has_failed_watch_; }
  /// Executes a request of the unit, as exec::ExecuteInUnit says.
  engine::Outcome ExecuteOne(uint32_t request, bool appends);
  /// Executes all requests of the unit; none if a WATCH has failed.
  engine::Outcome Run();

 private:
  /// Appends the replies that are known without the engine, up to the next one that is not.
  void AppendKnown();

  RespWork& work_;
  RespMoved moved_;
  exec::Unit& unit_;
  engine::Session& session_;
  const size_t bytes_max_;
  base::Buffer& out_;
  const size_t begin_;
  const bool has_failed_watch_;
  size_t next_ = 0;  ///< The call whose reply comes next.
};

}  // namespace rowsocket::frontend
