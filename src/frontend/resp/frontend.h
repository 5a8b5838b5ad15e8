// RESP, the protocol of Redis's clients, on one connection: rows as hashes, transactions as units.
//
// Flow: Parse takes a request off the input. A command of the connection or the server is answered
// without the engine (connection_commands.h, server_commands.h). A command on rows becomes a
// RespCall for each of its keys (call_maker.h, rows.h), whose index is opened when the connection
// names it for the first time (call_opener.h); several calls, and those between MULTI and EXEC
// (transactions.h), are one unit (exec/unit.h), which is done as a whole or not at all. SELECT,
// HELLO and MULTI change what the commands after them mean; if the turn stops before one of them,
// the change is taken back (state_changes.h). Other commands that change the connection end the
// turn.
//
// What the files of this folder are about:
//
//   requests        command, verb, work, numbers, repeated_requests, item, error_text
//   keys            key, key_locator, call_maker, expiry
//   open indexes    call_opener, index_finder, shapes
//   strings         store, string_row, string_change; scripts, string_scripts
//   rows            rows, row_reply, row_change, fields, random_fields
//   several keys    scan, scanned_rows, cursors, random_key, count_databases; move
//   units           transactions, unit_run, tokens, watch, watched_keys
//   the connection  connection_commands, state, state_changes, login, own_client, reply_mode
//   its port        shared, clients, server_commands, empty_answers
//   what is told    monitor, info, hotkeys, describe, help
//
// Threads and lifetime: see exec/frontend.h.
// Limits: about kRespOpenIndexesMax open indexes a connection, which are closed only before the
// first command of a turn; kColumnsMax fields of a command; kRespUnitKeysMax keys of a command, or
// of all commands of a MULTI, and kRespCommandsMax of these.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exec/frontend.h"
#include "frontend/resp/call_maker.h"
#include "frontend/resp/call_opener.h"
#include "frontend/resp/command.h"
#include "frontend/resp/connection_commands.h"
#include "frontend/resp/index_finder.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/login.h"
#include "frontend/resp/monitor.h"
#include "frontend/resp/own_client.h"
#include "frontend/resp/repeated_requests.h"
#include "frontend/resp/server_commands.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "frontend/resp/state_changes.h"
#include "frontend/resp/tokens.h"
#include "frontend/resp/transactions.h"
#include "frontend/resp/watched_keys.h"
#include "protocol/resp/request.h"

namespace rowsocket::frontend {

class RespFrontend final : public exec::Frontend {
 public:
  explicit RespFrontend(const RespShared& shared);

  Step Parse(std::string_view input, bool after_requests, base::Arena& arena,
             exec::Item* item) override;
  Step ParseForLane(std::string_view input, base::Arena& arena, exec::Item* item) override;
  void Rewind() override;
  void Finished(const exec::Item& item, const model::Error& answer) override;
  void ShowWaits(bool waits) override {
    own_client_.activity().waits.store(waits, std::memory_order_relaxed);
  }
  size_t input_bytes_max() const override;
  bool authenticated() const override { return login_.is_logged_in(); }
  std::string name() const override { return own_client_.name(); }
  void SetConnectionId(uint64_t id) override;
  void LoginEnded(const model::Error& answer, base::Buffer& out) override;
  void AccountEnded(base::Buffer& out) override;
  void Opened(exec::Item& item, const engine::Outcome& outcome,
              std::shared_ptr<engine::Index> index) override;
  engine::Outcome Execute(const exec::Item& item, engine::Session& session,
                          base::Buffer& out) const override;
  bool MayShareRow(const exec::Item& item, engine::Session& session) const override;
  bool MayConcern(const exec::Item& item, const exec::WriteSet& writes) const override;
  void AddWrites(const exec::Item& item, exec::WriteSet& writes) const override;
  void Reply(const exec::Item& item, base::Buffer& out) const override;
  void ReplyError(const exec::Item& item, model::Error error, base::Buffer& out) const override;
  void RefusePlain(std::string_view begin, base::Buffer& out) const override;

 private:
  Step ParseOne(std::string_view input, base::Arena& arena, exec::Item* item);
  /// Makes the item of the request that `step` has taken off the input. `command`: null if it does
  /// not exist.
  Step ParseCommand(const RespCommand* command, const resp::RequestStep& step,
                    std::string_view input, base::Arena& arena, exec::Item* item);
  resp::RequestLimits request_limits() const;
  /// Makes the item of a command: refuses it, queues it for EXEC, or prepares it now. `bytes`: the
  /// bytes of its request.
  Step PrepareCommand(const RespCommand& command, RespArguments arguments, std::string_view bytes,
                      base::Arena& arena, exec::Item* item);
  /// Counts an error reply that answers no item: to a login, or to a client without TLS.
  void CountError(std::string_view reply) const;
  engine::Outcome ExecuteAny(const exec::Item& item, engine::Session& session,
                             base::Buffer& out) const;
  engine::Outcome ExecuteUnit(const exec::Item& item, engine::Session& session,
                              base::Buffer& out) const;
  /// Shows the connection's name, state and account to other clients. Call it when one of them has
  /// changed.
  void ShowFacts() { own_client_.Show(state_, account()); }
  /// Shows how many bytes the connection holds. Call it when what is queued, watched or open has
  /// changed.
  void ShowHeldBytes() {
    SetHeldBytes(state_.multi_bytes + watched_.held_bytes() + finder_.held_bytes());
  }

  // Commands that are done now (frontend_prepare.cc).
  /// Makes the item of a command that is done now, or is refused for want of a MULTI.
  Step PrepareNow(const RespCommand& command, RespArguments arguments, std::string_view bytes,
                  base::Arena& arena, exec::Item* item);
  /// Makes the item of an INFO with the numbers of keys in databases, which the engine counts.
  /// False: an index has to be opened first, and the command is parsed again.
  bool PrepareInfo(const RespCommand& command, RespArguments arguments, base::Arena& arena,
                   exec::Item* item);
  /// Answers a command of the connection or the server, without the engine.
  void AnswerAlone(const RespCommand& command, RespArguments arguments, base::Arena& arena,
                   exec::Item* item);
  /// RESET: makes the connection what it was when it began.
  void Reset(exec::Item* item);

  const RespShared& shared_;
  RespKeyLocator locator_;
  RespMonitor monitor_;
  RespOwnClient own_client_;  ///< Shows others what ShowFacts was last called with.
  RespState state_;
  RespWatchedKeys watched_;
  RespStateChanges changes_;
  RespLogin login_;
  RespConnectionCommands connection_;
  RespServerCommands server_;
  /// The last Parse has returned kLater, so that its command has changed nothing.
  bool last_parse_said_later_ = false;

  RespRepeatedRequests requests_;
  RespIndexFinder finder_;
  RespCallMaker maker_;
  RespCallOpener opener_;
  RespTokens tokens_;
  RespTransactions transactions_;
};

}  // namespace rowsocket::frontend
