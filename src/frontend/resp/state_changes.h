// What the commands of a turn change of their connection: its state (state.h), the name of its
// client, and which keys are watched. A turn may stop at any item: some commands are parsed only
// when the items before them have their answers, and the changes of others are taken back.
//
// Flow: BeginParse before each request, then Undo where a new turn begins; AllowDrop around a parse
// for the lane. Note, EndMulti, EndWatch or FailWatch as its item is made; Finished when the item
// has its answer.
// Threads: one at a time. Lifetime: one for each connection, whose state, own client and watched
// keys outlive it.
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

  /// A new turn begins: what is left in the history is of items that the last one has not come to,
  /// and is taken back. Returns whether the state or the name may be another one now.
  bool Undo();
  /// `is_behind`: the item that is parsed next is behind others at which the turn may stop.
  void BeginParse(bool is_behind) { is_behind_ = is_behind; }
  bool is_behind() const { return is_behind_; }
  /// Whether an item that turns out to be a reply is thrown away, and parsed anew.
  void AllowDrop(bool allows) { may_be_dropped_ = allows; }
  /// Whether the command is parsed only when all items before it have their answers.
  bool MustBeLater(const RespCommand& command, RespArguments arguments) const {
    using Verb = RespVerb;
    const Verb verb = command.verb;
    if (verb == Verb::kReset || verb == Verb::kQuit) return true;
    // An EXEC behind more WATCHes than kRespWatchedKeysMax allows fails by their answers, which are
    // not there yet.
    if (state_.in_multi)
      return verb == Verb::kExec && watched_.count() > model::kRespWatchedKeysMax;
    return verb == Verb::kAuth || verb == Verb::kClient ||
           (verb == Verb::kHello && LogsIn(arguments));
  }
  /// Whether the item that is being parsed may come to nothing even where it is a reply, so that
  /// its changes are taken back.
  bool MayComeToNothing() const { return is_behind_ || may_be_dropped_; }

  /// To be called before the item changes the state, where the turn may stop at it or before it, or
  /// where the lane may throw it away.
  void Note(exec::Item& item);
  /// The item ends the transaction, if there is one, with the watch of all keys.
  void EndMulti(exec::Item& item);
  /// The item ends the watch of all keys: when it has its answer, where it may come to nothing.
  void EndWatch(exec::Item& item);
  /// The item is a WATCH that could not be made a request: when it has its answer, where it may
  /// come to nothing, the watch has failed.
  void FailWatch(exec::Item& item);
  /// The item of `work` has its answer. Returns whether the watched keys have changed.
  bool Finished(const RespWork& work, const model::Error& answer) {
    if (work.changes_state) history_.Finished();
    // An EXEC that is refused before it runs is a kReply by now; it is over all the same.
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
  /// Whether HELLO logs in, or may: with options that are wrong it only answers.
  static bool LogsIn(RespArguments arguments);

  RespState& state_;
  RespOwnClient& own_client_;
  RespWatchedKeys& watched_;
  RespStateHistory history_;
  bool is_behind_ = false;
  bool may_be_dropped_ = false;
};

}  // namespace rowsocket::frontend
