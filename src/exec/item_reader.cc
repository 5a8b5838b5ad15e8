#include "exec/item_reader.h"

#include <memory>
#include <utility>

#include "base/secret_text.h"

namespace rowsocket::exec {

ItemReader::Parsed ItemReader::ReadOne(Client& client, engine::Session& session,
                                       const Target& target) const {
  TurnItem& item = target.turn.Add(client.turn);
  item.input_begin = client.parsed;
  const Frontend::Step step =
      client.frontend->Parse(client.connection.in().view().substr(client.parsed),
                             client.has_requests, target.arena, &item.item);
  const bool is_misplaced =
      !target.takes_writes && step.parsed == Frontend::Parsed::kItem && item.is_write();
  bool is_handed_over = is_misplaced && target.hands_writes_over && client.parsed == 0;
  if (step.parsed == Frontend::Parsed::kLater || (is_misplaced && !is_handed_over)) {
    target.turn.DropLast();
    client.frontend->Rewind();
    client.has_more = true;
    return is_misplaced ? Parsed::kWrite : Parsed::kEnd;
  }
  client.parsed += step.consumed;
  if (step.parsed == Frontend::Parsed::kNeedMore) {
    target.turn.DropLast();
    return Parsed::kEnd;
  }
  item.input_end = client.parsed;
  // An item that Charge refuses counts as a request all the same: its frontend took it for one at
  // which the turn may stop.
  const bool is_request = item.item.kind == Item::Kind::kRequest || item.item.is_large;
  if (item.item.request.account != nullptr) {
    Charge(client, item, target.arena);
    is_handed_over = is_handed_over && item.is_write();
  }
  if (is_handed_over) return Parsed::kFirstWrite;
  bool goes_on = true;
  if (item.item.is_silent()) {
    goes_on = GetSilently(client, session, target);
  } else {
    client.has_requests = client.has_requests || is_request;
    if (item.item.kind == Item::Kind::kOpen) goes_on = OpenInTurn(client, session, item);
    client.closes = item.item.closes;
    if (item.item.wipes_input) Wipe(client, item);
    goes_on = goes_on && !client.closes && item.item.kind != Item::Kind::kAuthenticate;
    if (item.item.is_costly && goes_on) {
      client.has_more = true;
      goes_on = false;
    }
    target.turn.Added();
  }
  return goes_on ? Parsed::kMore : Parsed::kEnd;
}

// The input may have been moved in its buffer, so that the unused memory may hold parts of it, too.
// It is wiped once for all items of a turn, because the buffer may be large.
void ItemReader::Wipe(Client& client, const TurnItem& item) {
  const std::string_view input = client.connection.in().view();
  base::Wipe(input.substr(item.input_begin, item.input_end - item.input_begin));
  client.wipes_unused = true;
}

// An item that is parsed again, because its client was stopped before it, is paid for already.
void ItemReader::Charge(Client& client, TurnItem& item, base::Arena& arena) const {
  const bool counts = item.item.kind == Item::Kind::kRequest ||
                      item.item.kind == Item::Kind::kOpen || item.item.is_charged;
  if (!counts || item.input_end <= client.charged) return;
  if (Spend(client, item.item, item.item.weight)) {
    client.charged = item.input_end;
    return;
  }
  client.frontend->Refuse(item.item, {model::ErrorCode::kAccountRate}, arena);
}

// Spends `count` requests of the item's account. False: the account has none left.
bool ItemReader::Spend(Client& client, const Item& item, uint32_t count) const {
  AccountLimits* const limits = core_.settings.account_limits;
  const uint32_t per_second = limits != nullptr ? limits->requests_per_second() : 0;
  const model::Account* const account = item.request.account;
  if (per_second == 0 || account == nullptr) return true;
  if (client.budget_account != account->id()) {
    client.budget = limits->BudgetOf(*account, core_.clock.now_ms);
    client.budget_account = account->id();
  }
  return client.budget->Spend(count, per_second, core_.clock.now_ms);
}

// Whether the item's account may make a request now. Spending none of them takes nothing from it.
bool ItemReader::HasBudget(Client& client, const Item& item) const {
  return Spend(client, item, 0);
}

bool ItemReader::OpenInTurn(Client& client, engine::Session& session, TurnItem& item) {
  std::shared_ptr<engine::Index> index;
  const engine::Outcome outcome =
      session.OpenIndexFor(item.item.request.account, *item.item.names, &index);
  if (outcome.result != engine::Outcome::Result::kBusy)
    client.frontend->Opened(item.item, outcome, std::move(index));
  return outcome.result != engine::Outcome::Result::kBusy;
}

// The input that led to the silent item is parsed again: at once, in the worker's next turn, or
// after the lane has waited.
bool ItemReader::GetSilently(Client& client, engine::Session& session, const Target& target) const {
  TurnItem& item = target.turn.items().back();
  bool goes_on = true;
  if (item.item.kind == Item::Kind::kRefresh) {
    // An account that has no requests left gets no refresh: the request that asks for it will be
    // refused.
    const bool refreshes = HasBudget(client, item.item);
    if (refreshes) client.has_more = core_.must_refresh = true;
    goes_on = !refreshes;
  } else {
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome =
        session.OpenIndexFor(item.item.request.account, *item.item.names, &index);
    const bool is_busy = outcome.result == engine::Outcome::Result::kBusy;
    if (is_busy && !item.item.takes_busy) return false;
    client.frontend->Opened(item.item, outcome, std::move(index));
  }
  target.turn.DropLast();
  client.frontend->Rewind();
  return goes_on;
}

}  // namespace rowsocket::exec
