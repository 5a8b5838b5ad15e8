// Audit plugins of the server are told of the tables that a turn's requests have reached, before
// the turn commits: no answer leaves of which they have not been told.
#include <algorithm>
#include <string>
#include <vector>

#include "exec/address_text.h"
#include "exec/connection_book.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

/// Whether a request was refused before a table was touched: SQL tells of no access then.
bool IsRefusedEarly(const model::Error& answer) {
  switch (answer.code) {
    case model::ErrorCode::kDenied:
    case model::ErrorCode::kUnauth:
    case model::ErrorCode::kAccountRate:
    case model::ErrorCode::kOpenTable:
    case model::ErrorCode::kLockTables:
    case model::ErrorCode::kOffline:
    case model::ErrorCode::kNotReady:
      return true;
    default:
      return false;
  }
}

class AccessTeller {
 public:
  AccessTeller(engine::Session& session, const Frontend& frontend) : session_(session) {
    address_ = ConnectionBook::Shared().AddressOf(frontend.connection_id());
    const model::Account* const account = frontend.account();
    if (account != nullptr) {
      access_.account_id = account->id();
      access_.user = account->user();
      access_.host = account->host();
    }
    access_.address = HostOf(address_);
    access_.thread_id = frontend.server_thread_id();
  }

  void Tell(const engine::IndexNames& names, bool writes) {
    access_.schema = names.db;
    access_.table = names.table;
    access_.writes = writes;
    session_.TellAccess(access_);
  }

 private:
  engine::Session& session_;
  std::string address_;
  engine::TableAccess access_;
};

/// A command of several keys, which may be of several tables: each table once.
void TellOfRows(const Item& item, const Frontend& frontend, AccessTeller& teller) {
  std::vector<const engine::IndexNames*> told;
  const auto tell = [&](const engine::Index& index) {
    const engine::IndexNames& names = index.names();
    const bool is_told = std::any_of(told.begin(), told.end(), [&](const auto* one) {
      return one->db == names.db && one->table == names.table;
    });
    if (is_told) return;
    told.push_back(&names);
    teller.Tell(names, item.request.is_write());
  };
  frontend.VisitRows(item, [&](const RowName& row) { tell(row.index()); });
  if (told.empty()) tell(*item.index);
}

}  // namespace

void Turn::TellAccesses(engine::Session& session, std::span<TurnItem> items) {
  bool has_told = false;
  for (TurnItem& item : items) {
    const Frontend& frontend = *item.client->frontend;
    const bool is_due = item.item.kind == Item::Kind::kRequest && frontend.tells_accesses() &&
                        item.is_answered() && !item.gives_way && !item.is_told &&
                        !IsRefusedEarly(item.answer);
    if (!is_due) continue;
    item.is_told = has_told = true;
    AccessTeller teller(session, frontend);
    if (item.item.unit == nullptr) {
      TellOfRows(item.item, frontend, teller);
      continue;
    }
    for (const UnitRequest& one : item.item.unit->requests) {
      teller.Tell(one.index->names(), one.request.is_write());
    }
  }
  if (has_told) session.EndAccesses();
}

}  // namespace rowsocket::exec
