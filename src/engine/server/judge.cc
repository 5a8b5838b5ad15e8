#include "engine/server/judge.h"

#include <chrono>
#include <thread>

namespace rowsocket::engine::server {

using model::ErrorCode;
using model::Request;

namespace {

constexpr std::chrono::milliseconds kTryAgain{1};
constexpr Privileges kAny = kSelect | kInsert | kUpdate | kDelete;

/// Unlocks at the end of a block.
class Unlocking {
 public:
  explicit Unlocking(PrivilegeReader& reader) : reader_(reader) {}
  ~Unlocking() { reader_.Unlock(); }
  Unlocking(const Unlocking&) = delete;
  Unlocking& operator=(const Unlocking&) = delete;

 private:
  PrivilegeReader& reader_;
};

Outcome Denied() { return Outcome::Fail(ErrorCode::kDenied); }

}  // namespace

Outcome Judge::MayOpen(const IndexNames& names, const model::Account& account) {
  if (account.ended()) return Outcome::Fail(ErrorCode::kUnauth);
  bool has_account = false;
  const Outcome looked = Look(account, names.db, &has_account);
  if (!looked.ok()) return looked;
  if (!has_account) return Denied();
  if (reader_.on_database() != 0) return {};
  const Outcome locked = Lock();
  if (!locked.ok()) return locked;
  const Unlocking unlocking(reader_);
  reader_.LookAtTable(names.table);
  return (reader_.on_some_column() & kAny) != 0 ? Outcome() : Denied();
}

Outcome Judge::Decide(IndexState& index, const Request& request, bool is_known) {
  Rights& rights = index.rights().Of(request.account->id(), grants_seen_);
  if (is_known && (NeedsOf(request) & rights.denied_on_all) != 0) return Denied();
  if (!is_known || !rights.is_whole) {
    const Outcome outcome = LookUp(index, request, &rights);
    if (!outcome.ok()) {
      rights.account = 0;
      return outcome;
    }
    if ((NeedsOf(request) & rights.denied_on_all) != 0) return Denied();
    if (!rights.is_whole) return {};
  }
  return rights.Allow(request) ? Outcome() : Denied();
}

// The table is opened only for an account that has the privileges on some column of it.
Outcome Judge::LookUp(IndexState& index, const Request& request, Rights* rights) {
  const model::Account& account = *request.account;
  if (account.ended()) return Outcome::Fail(ErrorCode::kUnauth);
  rights->Begin(account.id(), grants_seen_, tables_.generation());
  bool has_account = false;
  const Outcome looked = Look(account, index.names().db, &has_account);
  if (!looked.ok()) return looked;
  if (!has_account) {
    rights->denied_on_all = kAny;
    return {};
  }
  rights->SetTable(reader_.on_database());
  const Privileges needs = NeedsOf(request);
  if ((needs & ~rights->on_all_opened) == 0) return {};
  if (!index.IsResolved(tables_)) {
    const Outcome locked = Lock();
    if (!locked.ok()) return locked;
    {
      const Unlocking unlocking(reader_);
      reader_.LookAtTable(index.names().table);
      rights->denied_on_all = kAny & ~reader_.on_some_column();
    }
    if ((needs & rights->denied_on_all) != 0) return {};
    OpenTable* open = nullptr;
    const Outcome resolved = request.is_write() ? index.ResolveForWrite(tables_, &open)
                                                : index.ResolveForRead(tables_, &open);
    if (!resolved.ok()) return resolved;
  }
  const Outcome locked = Lock();
  if (!locked.ok()) return locked;
  const Unlocking unlocking(reader_);
  return LookAtColumns(index, rights);
}

Outcome Judge::LookAtColumns(IndexState& index, Rights* rights) {
  reader_.LookAtTable(index.names().table);
  rights->on_table = reader_.on_table();
  rights->on_some_column = reader_.on_some_column();
  const TABLE& table = index.table(tables_);
  for (const uint field : index.column_fields()) {
    rights->columns.push_back(reader_.on_column(*table.field[field]));
  }
  for (const uint field : index.filter_fields()) {
    rights->filters.push_back(reader_.on_column(*table.field[field]));
  }
  const KeyParts parts = UserKeyParts(table.key_info[index.key()]);
  for (uint i = 0; i < parts.count; ++i) {
    rights->key.push_back(reader_.on_column(*parts.first[i].field));
  }
  rights->SumUp();
  return {};
}

Outcome Judge::Look(const model::Account& account, const std::string& db, bool* found) {
  return TryUntilDone([&] { return reader_.TryLook(account, db, found); });
}

Outcome Judge::Lock() {
  return TryUntilDone([this] { return reader_.TryLock(); });
}

template <class Action>
Outcome Judge::TryUntilDone(Action action) {
  using Clock = std::chrono::steady_clock;
  if (action()) return {};
  Outcome busy = Outcome::Make(Outcome::Result::kBusy, {ErrorCode::kLockTables});
  busy.waits_elsewhere = true;
  if (!waits_ || gave_up_) return busy;
  if (!is_first_) {
    busy.result = Outcome::Result::kGivesWay;
    return busy;
  }
  const Clock::time_point until = Clock::now() + std::chrono::seconds(wait_s_);
  while (Clock::now() < until) {
    if (thd_.killed() || ServerStopping()) return Outcome::Fail(ErrorCode::kKilled);
    std::this_thread::sleep_for(kTryAgain);
    if (action()) return {};
  }
  gave_up_ = true;
  return busy;
}

}  // namespace rowsocket::engine::server
