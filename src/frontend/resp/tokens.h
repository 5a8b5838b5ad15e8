// The tokens of one connection's transactions: by ROW.ONCE a transaction takes effect once, however
// often it is sent; ROW.OUTCOME says what became of it.
//
// Flow: Prepare for a transaction with a token, then ExecuteOnce; PrepareOutcome, then
// ExecuteOutcome. If an index of the table of tokens is not open yet, the item asks for it: Opened
// gets it, and the command is parsed again.
// Threads: one at a time.
// Lifetime: one for each connection; the settings outlive it. What is prepared lies in the arena.
// Limits: kTokenBytesMax bytes of a token, kTokenAnswerBytesMax of the reply that is kept with it.
// Errors: as exec/token_book.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.h"
#include "base/buffer.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "exec/token_book.h"
#include "exec/unit.h"
#include "frontend/resp/command.h"
#include "frontend/resp/state.h"
#include "frontend/resp/work.h"
#include "model/account.h"

namespace rowsocket::frontend {

class RespTokens {
 public:
  explicit RespTokens(const exec::TokenSettings& settings) : settings_(settings) {}

  /// The identity of a transaction of these commands, each given with its name.
  static std::string IdentityOf(const RespState& state, std::span<const RespArguments> commands);
  /// Makes the request of a token. Null: `*error` says why not; if that is empty, the item asks for
  /// an index that has to be opened first.
  exec::TokenedRequest* Prepare(std::string_view token, std::string_view identity,
                                base::Arena& arena, exec::Item* item, std::string* error);
  /// Makes the item of ROW.OUTCOME. False: an index has to be opened first, and the command is
  /// parsed again. `account`: the connection's; null: it may do everything.
  bool PrepareOutcome(RespArguments arguments, const model::Account* account, base::Arena& arena,
                      exec::Item* item);

  /// Whether the item asks for an index of the table of tokens.
  bool AsksFor(const exec::Item& item) const {
    return book_ != nullptr && item.names == book_->ToOpen();
  }
  void Opened(const engine::Outcome& outcome, std::shared_ptr<engine::Index> index) {
    book_->Opened(outcome, std::move(index));
  }

  /// Executes a unit with a token by `run`, unless a unit with this token has taken effect already.
  engine::Outcome ExecuteOnce(const RespWork& work, exec::Unit& unit, engine::Session& session,
                              base::Buffer& out, const std::function<engine::Outcome()>& run) const;
  engine::Outcome ExecuteOutcome(const RespWork& work, const model::Account* account,
                                 engine::Session& session, base::Buffer& out) const;
  /// Adds what a prepared token may change besides the rows of its transaction.
  void AddWrites(exec::WriteSet& writes) const { book_->AddWrites(writes); }

 private:
  const exec::TokenSettings& settings_;
  std::unique_ptr<exec::TokenBook> book_;  ///< From the first command with a token on.
};

}  // namespace rowsocket::frontend
