// The HandlerSocket protocol on one connection: its ids, its authorization, its replies.
//
// Threads and lifetime: see exec/frontend.h.
// Limits: index_ids_max ids; lines of line_bytes_max bytes, fewer before authentication.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"
#include "engine/session.h"
#include "exec/frontend.h"
#include "exec/token_book.h"
#include "model/health.h"
#include "model/limits.h"
#include "protocol/handlersocket/framer.h"
#include "protocol/handlersocket/group.h"
#include "protocol/handlersocket/parser.h"
#include "protocol/handlersocket/token_line.h"

namespace rowsocket::frontend {

/// Settings that all connections of one port share. They outlive the connections.
struct HandlerSocketSettings {
  bool writable = false;
  base::Secret secret;    ///< Empty: clients need not authenticate, unless `accounts` is set.
  bool accounts = false;  ///< `A` takes accounts of the server, too; false: only the secret.
  bool delays_refusals = false;  ///< Login threads answer a wrong secret, after a delay.
  /// The account of connections that have not logged in with another one; null: they may do
  /// everything.
  std::shared_ptr<const model::Account> account;
  bool serves_tokens = false;  ///< handlersocket_tokens
  exec::TokenSettings tokens;
  /// Reads the server's health. Null: the server is a primary that takes everything.
  std::function<model::Health()> health;
  /// Reads the position up to which the server has logged transactions. Null: none.
  std::function<std::string()> position;
  /// Whether the server has executed a transaction (MariaDB) or a range of them (MySQL). Null:
  /// none.
  std::function<bool(const model::Gtid&)> has_executed;
  std::function<bool(const model::GtidRange&)> has_executed_range;
  model::Limits limits;
};

class HandlerSocketFrontend final : public exec::Frontend {
 public:
  explicit HandlerSocketFrontend(const HandlerSocketSettings& settings);

  Step Parse(std::string_view input, bool after_requests, base::Arena& arena,
             exec::Item* item) override;
  void Rewind() override {
    framer_ = handlersocket::Framer();
    group_lines_.Reset();
    refused_lines_ = 0;
  }
  size_t input_bytes_max() const override;
  bool authenticated() const override { return authenticated_; }
  std::string name() const override { return name_; }
  void LoginEnded(const model::Error& answer, base::Buffer& out) override;
  void AccountEnded(base::Buffer& out) override;
  void Opened(exec::Item& item, const engine::Outcome& outcome,
              std::shared_ptr<engine::Index> index) override;
  engine::Outcome Execute(const exec::Item& item, engine::Session& session,
                          base::Buffer& out) const override;
  bool MayConcern(const exec::Item& item, const exec::WriteSet& writes) const override;
  void AddWrites(const exec::Item& item, exec::WriteSet& writes) const override;
  void Reply(const exec::Item& item, base::Buffer& out) const override;
  void ReplyError(const exec::Item& item, model::Error error, base::Buffer& out) const override;
  void RefusePlain(std::string_view begin, base::Buffer& out) const override;

 private:
  /// The first line of a group.
  struct GroupAt {
    std::string_view line;                ///< The line without its token.
    size_t size = 0;                      ///< How many bytes of the input the line takes.
    const model::Value* token = nullptr;  ///< Null: the group has none.
  };

  static bool IsHttp(std::string_view line);
  void Authenticate(handlersocket::Command& command, base::Arena& arena, exec::Item* item);
  /// Makes the item a login with an account. False: the line names none.
  bool PrepareLogin(const handlersocket::Command& command, base::Arena& arena,
                    exec::Item* item) const;
  bool IsSecret(const handlersocket::Command& command) const;
  static void RefuseLater(base::Arena& arena, exec::Item* item);
  const model::Limits& parse_limits() const;
  size_t ColumnsOf(uint64_t id) const;
  /// Whether the connection may open the columns of this index: each column costs the server some
  /// memory as long as the id is open.
  bool HasRoomFor(const handlersocket::OpenIndex& open, uint64_t id) const;
  static void CheckNames(const handlersocket::OpenIndex& open, handlersocket::ErrorSet* errors);
  void PrepareOpen(const handlersocket::Command& command, exec::Item* item);
  void PrepareServerQuestion(const handlersocket::Command& command, base::Arena& arena,
                             exec::Item* item) const;
  bool Holds(const handlersocket::ServerQuestion& question) const;
  void TakeName(const handlersocket::Command& command, exec::Item* item);
  void PrepareRequest(handlersocket::Command& command, exec::Item* item);
  /// Parses a line that takes `size` bytes of the input.
  Step ParseTokenLine(const handlersocket::TokenLine& line, size_t size, std::string_view input,
                      base::Arena& arena, exec::Item* item);
  bool PrepareOnceRequest(const handlersocket::TokenLine& line, base::Arena& arena,
                          exec::Item* item);
  bool PrepareTokenQuestion(model::Value token, bool fences, base::Arena& arena, exec::Item* item);
  /// Appends the identity of a request on this index. `line` is the request without its token.
  static void AppendIdentity(std::string_view line, const engine::Index& index, std::string* text);
  /// Gives the item a token. False when an index of the table of tokens has to be opened first.
  bool AttachToken(model::Value token, std::string_view identity, base::Arena& arena,
                   exec::Item* item);
  engine::Outcome Ask(const exec::TokenedRequest& tokened, engine::Session& session,
                      base::Buffer& out) const;
  engine::Outcome ExecuteRequest(engine::Index& index, const model::Request& request,
                                 size_t reply_bytes_max, engine::Session& session,
                                 base::Buffer& out) const;
  // Groups (groups.cc).
  Step ParseGroup(const GroupAt& at, std::string_view input, base::Arena& arena, exec::Item* item);
  void PrepareGroup(std::string_view lines, size_t count, base::Arena& arena, exec::Item* item);
  bool AttachTokenOfGroup(const GroupAt& at, std::string_view lines, base::Arena& arena,
                          exec::Item* item);
  engine::Outcome ExecuteGroup(const exec::Item& item, engine::Session& session,
                               base::Buffer& out) const;
  static void AppendNotApplied(const exec::Unit& unit, base::Buffer& out);
  static void AppendGroupError(const exec::Unit& unit, const model::Error& error,
                               base::Buffer& out);
  static void AppendNothingDone(const exec::Unit& unit, base::Buffer& out);
  engine::Index* FindIndex(uint64_t id) const;

  const HandlerSocketSettings& settings_;
  handlersocket::Framer framer_;
  handlersocket::GroupLines group_lines_;
  size_t refused_lines_ = 0;  ///< How many lines of a refused group are yet to come.
  std::vector<std::shared_ptr<engine::Index>> indexes_;  ///< By id; null if none is open.
  size_t open_columns_ = 0;  ///< Columns of all open ids, filter columns included.
  std::unique_ptr<engine::IndexNames> names_;  ///< The names in the last P.
  std::unique_ptr<exec::TokenBook> tokens_;    ///< From the first request with a token on.
  std::string name_;  ///< The name that the client has given itself with N.
  bool authenticated_;
};

}  // namespace rowsocket::frontend
