// Audit plugins of the server are told of the tables that a turn's requests have reached, before
// the turn commits, so that no answer leaves before they know of it.
#include <algorithm>
#include <string>
#include <vector>

#include "exec/address_text.h"
#include "exec/connection_book.h"
#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

namespace {

/// Whether a request was refused before it touched a table: SQL then tells of no access. A table
/// that is not served is refused while it is opened. In a unit, requests before the refused one
/// have been executed, and a DEFAULT of a table that is served may ask a sequence for a value.
bool IsRefusedEarly(const Item& item, const model::Error& answer) {
  using model::ErrorCode;
  switch (answer.code) {
    case ErrorCode::kUnauth:
    case ErrorCode::kDenied:
    case ErrorCode::kAccountRate:
    case ErrorCode::kOpenTable:
    case ErrorCode::kOffline:
    case ErrorCode::kLockTables:
    case ErrorCode::kNotReady:
      return true;
    case ErrorCode::kView:
    case ErrorCode::kSystemTable:
    case ErrorCode::kTableEngine:
    case ErrorCode::kUnserved:
      return item.unit == nullptr;
    case ErrorCode::kSequence:
      return item.unit == nullptr && !item.request.is_write();
    case ErrorCode::kNone:
    case ErrorCode::kCmd:
    case ErrorCode::kLineLength:
    case ErrorCode::kAuthtype:
    case ErrorCode::kNeedtls:
    case ErrorCode::kIdxnum:
    case ErrorCode::kFld:
    case ErrorCode::kStmtnum:
    case ErrorCode::kNumber:
    case ErrorCode::kInvalueslen:
    case ErrorCode::kFiltertype:
    case ErrorCode::kFilterfld:
    case ErrorCode::kOp:
    case ErrorCode::kKlen:
    case ErrorCode::kValuesCount:
    case ErrorCode::kReadonly:
    case ErrorCode::kModop:
    case ErrorCode::kToken:
    case ErrorCode::kClientName:
    case ErrorCode::kTrigger:
    case ErrorCode::kVersioned:
    case ErrorCode::kGalera:
    case ErrorCode::kKpnum:
    case ErrorCode::kFilterblob:
    case ErrorCode::kNotimpl:
    case ErrorCode::kIndexop:
    case ErrorCode::kCharset:
    case ErrorCode::kTokenTable:
    case ErrorCode::kTokenDiffers:
    case ErrorCode::kUnavailable:
    case ErrorCode::kGroup:
    case ErrorCode::kResultsize:
    case ErrorCode::kKilled:
    case ErrorCode::kRefused:
    case ErrorCode::kEngine:
    case ErrorCode::kLockWait:
    case ErrorCode::kDeadlock:
    case ErrorCode::kInternal:
      break;
  }
  return false;
}

/// Whether audit plugins are to be told of the item, and were not yet.
bool IsToBeTold(const TurnItem& item) {
  return item.item.kind == Item::Kind::kRequest && item.client->frontend->tells_accesses() &&
         item.is_answered() && !item.gives_way && !item.is_told &&
         !IsRefusedEarly(item.item, item.answer);
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

/// Tells of a command of several keys, which may be in several tables: of each table once.
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
    if (!IsToBeTold(item)) continue;
    const Frontend& frontend = *item.client->frontend;
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

// In a cluster, the beginning of a turn may wait for other nodes.
void Turn::TellAccessesAfterwards(engine::Session& session, std::span<TurnItem> items) {
  if (!session.WantsAccesses() || std::none_of(items.begin(), items.end(), IsToBeTold)) return;
  session.BeginTurn(false);
  TellAccesses(session, items);
  session.Rollback();
}

}  // namespace rowsocket::exec
