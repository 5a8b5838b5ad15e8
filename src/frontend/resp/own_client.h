// A connection of RESP as one of its port's clients: what it shows to others, what it may see of
// them and do to them (CLIENT), and whether its commands are answered.
//
// Flow: SetId, then Show; Show again whenever the name, the account or the state has changed. The
// connection leaves the port's clients (clients.h) when this object ends.
// Threads: one at a time; any thread may read activity(), which CLIENT LIST of others shows.
// Lifetime: one for each connection; what the port shares outlives it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "exec/frontend.h"
#include "frontend/resp/clients.h"
#include "frontend/resp/command.h"
#include "frontend/resp/reply_mode.h"
#include "frontend/resp/shared.h"
#include "frontend/resp/state.h"
#include "model/account.h"
#include "protocol/resp/reply.h"

namespace rowsocket::frontend {

inline constexpr std::string_view kRespBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

class RespOwnClient {
 public:
  explicit RespOwnClient(const RespShared& shared) : shared_(shared) {}
  ~RespOwnClient() {
    if (id_ != 0) shared_.clients->Leave(id_);
  }
  RespOwnClient(const RespOwnClient&) = delete;
  RespOwnClient& operator=(const RespOwnClient&) = delete;

  /// Sets the connection's number in the ConnectionBook.
  void SetId(uint64_t id) { id_ = id; }
  uint64_t id() const { return id_; }
  /// The name that the client has given its connection; may be empty.
  const std::string& name() const { return facts_.name; }
  void SetName(std::string_view name) { facts_.name = name; }
  /// Shows the connection with this state and account. `account` null: it may do everything.
  void Show(const RespState& state, const model::Account* account);

  RespActivity& activity() { return activity_; }
  const RespActivity& activity() const { return activity_; }
  RespReplyMode& replies() { return replies_; }
  const RespReplyMode& replies() const { return replies_; }

  /// Carries out CLIENT, and appends its reply. `account`: the connection's, as for Show.
  void AppendClient(RespArguments arguments, const RespState& state, const model::Account* account,
                    base::Buffer& out, exec::Item* item);

 private:
  /// The connection as CLIENT LIST shows it.
  RespClient Shown() const;
  /// Carries out CLIENT SETINFO. False: its error is appended.
  bool SetLibrary(std::string_view what, std::string_view text, base::Buffer& out);
  void SetReply(std::string_view mode, base::Buffer& out, exec::Item* item);
  std::vector<RespClient> VisibleClients() const;
  void ListClients(RespArguments options, resp::Version version, base::Buffer& out) const;
  void KillClients(RespArguments options, base::Buffer& out, exec::Item* item) const;

  const RespShared& shared_;
  uint64_t id_ = 0;
  RespFacts facts_;  ///< Show gives RespClients a copy.
  RespActivity activity_;
  RespReplyMode replies_;
};

}  // namespace rowsocket::frontend
