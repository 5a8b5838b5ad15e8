// How the commands of a turn change their connection: its state (state.h), the name of its client,
// and which keys are watched. A turn may stop at any item: some commands are parsed only when the
// items before them have their answers, and the changes of others are taken back.
//
// Flow: BeginParse before each request, then Undo if a new turn begins; AllowDrop around a parse
// for the lane. Note, EndMulti, EndWatch or FailWatch when the item is made; Finished when it has
// its answer.
// Threads: one at a time.
// Lifetime: one for each connection, whose state, own client and watched keys outlive it.
#pragma once

#include <string_view>

#include "exec/frontend.h"
#include "frontend/resp/command.h"
#include "frontend/resp/own_client.h"
#include "frontend/resp/state.h"
#include "frontend/resp/watched_keys.h"
#include "frontend/resp/work.h"
#include "model/error.h"
#include "model/limits.h"

namespace rowsocket::frontend {

class RespStateChanges {
 public:
  RespStateChanges(RespState& state, RespOwnClient& own_client, RespWatchedKeys& watched)
      : state_(state), own_client_(own_client), watched_(watched) {}

  /// Begins a new turn: takes back the changes of items that the last turn has not come to. Returns
  /// whether the state or the name may have changed by that.
  bool Undo();
  /// Begins a parse. `after_requests`: the item that is parsed next comes after others at which the
  /// turn may stop.
  void BeginParse(bool after_requests) { after_requests_ = after_requests; }
  bool after_requests() const { return after_requests_; }
  /// Sets whether an item that turns out to be a reply is thrown away, and parsed anew.
  void AllowDrop(bool allows) { may_be_dropped_ = allows; }
  /// Whether the command is parsed only when all items before it have their answers.
  bool MustBeLater(const RespCommand& command, RespArguments arguments) const {
    using Verb = RespVerb;
    const Verb verb = command.verb;
    if (verb == Verb::kReset || verb == Verb::kQuit || verb == Verb::kAuth) return true;
    // A login that MULTI refuses waits as well: it is wiped, and must not be parsed again.
    if (verb == Verb::kHello) return LogsIn(arguments);
    // An EXEC after more WATCHes than kRespWatchedKeysMax allows fails because of their answers, so
    // that these must come first.
    if (state_.in_multi)
      return verb == Verb::kExec && watched_.count() > model::kRespWatchedKeysMax;
    return verb == Verb::kClient;
  }
  /// Whether the item that is being parsed may be dropped, even if it is a reply, so that its
  /// changes are taken back.
  bool MayComeToNothing() const { return after_requests_ || may_be_dropped_; }

  /// Notes the state before the item changes it. Call it if the turn may stop at the item or before
  /// it, or if the lane may throw it away.
  void Note(exec::Item& item);
  /// Lets the item end the transaction and the watch of all keys, if there is a transaction.
  void EndMulti(exec::Item& item);
  /// Lets the item end the watch of all keys: at once, or, if the item may be dropped, when it has
  /// its answer.
  void EndWatch(exec::Item& item);
  /// Makes the watch fail, because the item is a WATCH that could not become a request: at once,
  /// or, if the item may be dropped, when it has its answer.
  void FailWatch(exec::Item& item);
  /// Notes that the item of `work` has its answer. Returns whether the set of watched keys has
  /// changed.
  bool Finished(const RespWork& work, const model::Error& answer) {
    if (work.changes_state) history_.Finished();
    // An EXEC that is refused before it runs has become a kReply; it ends the watch all the same.
    const bool is_watch = !work.calls.empty() && work.calls[0].verb == RespVerb::kWatch;
    if (work.ends_watch)
      watched_.Ended();
    else if (is_watch && answer.ok())
      watched_.Keep(work.calls);
    else if (is_watch || work.fails_watch)
      watched_.Fail();
    else
      return false;
    return true;
  }

 private:
  /// Whether HELLO may log in. (With wrong options it only answers.)
  static bool LogsIn(RespArguments arguments);

  RespState& state_;
  RespOwnClient& own_client_;
  RespWatchedKeys& watched_;
  RespStateHistory history_;
  bool after_requests_ = false;
  bool may_be_dropped_ = false;
};

}  // namespace rowsocket::frontend
