// Ends the wait for a row or table lock of InnoDB at the moment when it begins, for sessions that
// do not wait (docs/adr/0018-mysql-lock-waits.md).
//
// InnoDB tells the server's thread scheduler of a wait, after it has released its own latches and
// before it sleeps. This library puts a hook into that place. For a session that does not wait, the
// hook cancels the wait that was just queued; InnoDB then ends the statement as KILL QUERY does.
//
// Flow: Install { Renew RefuseWaits { TakeMetLock } AllowWaits }* Remove.
// Threads: Install and Remove from the server's plugin code, Renew from any; the others for the
// calling thread.
// Lifetime: a server thread may be inside the hook when the last plugin stops, so that the library
// stays in memory (-z nodelete).
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

class WaitHook {
 public:
  /// Installs the hook, which stays from the first Install to the last Remove. It does not push out
  /// another library that has replaced it meanwhile.
  static void Install();
  static void Remove();
  /// Puts the hook before another library that has replaced it since Install and does not call it,
  /// as a thread pool that is loaded later does. Each session calls it when it begins.
  static void Renew();

  /// From now on waits of this thread for `thd` are canceled.
  static void RefuseWaits(THD* thd);
  /// Ends what RefuseWaits has begun for this thread. Returns the THD whose waits were canceled;
  /// null: none.
  static THD* AllowWaits();
  /// Whether the hook has ended a statement since the last call, because the statement met a lock.
  /// False for a statement that somebody had killed before its wait began.
  static bool TakeMetLock();
};

}  // namespace rowsocket::engine::server
