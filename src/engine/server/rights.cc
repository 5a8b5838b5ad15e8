#include "engine/server/rights.h"

#include <algorithm>

#include "base/require.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

using model::Modification;
using model::Request;

namespace {

bool Has(Privileges privileges, Privileges wanted) { return (wanted & ~privileges) == 0; }

/// Whether each of the first `count` has the privileges that are wanted.
bool FirstHave(const std::vector<Privileges>& each, size_t count, Privileges wanted) {
  count = std::min(count, each.size());
  return std::all_of(each.begin(), each.begin() + static_cast<ptrdiff_t>(count),
                     [wanted](Privileges privileges) { return Has(privileges, wanted); });
}

bool AllHave(const std::vector<Privileges>& each, Privileges wanted) {
  return FirstHave(each, each.size(), wanted);
}

Privileges NeedsOfFind(const model::Find& find) {
  switch (find.modification) {
    case Modification::kNone:
      return kSelect;
    case Modification::kDelete:
      // Without a key and filters nothing is read of the rows, unless they are answered.
      return find.key.empty() && find.filters.empty() && !find.wants_before_images
                 ? kDelete
                 : kDelete | kSelect;
    case Modification::kUpdate:
    case Modification::kIncrement:
    case Modification::kDecrement:
      break;
  }
  return kUpdate | kSelect;
}

}  // namespace

Privileges NeedsOf(const Request& request) {
  if (request.verb == Request::Verb::kFind) return NeedsOfFind(request.find);
  if (request.verb == Request::Verb::kInsert) return kInsert;
  const model::Edit& edit = request.edit;
  return kSelect | (edit.may_insert ? kInsert : 0) | (edit.may_delete ? kDelete : 0) |
         (edit.may_update.empty() ? 0 : kUpdate);
}

void Rights::Begin(uint64_t account_id, uint64_t seen, uint64_t of_generation) {
  account = account_id;
  grants_seen = seen;
  generation = of_generation;
  is_whole = false;
  denied_on_all = 0;
  SetTable(0);
  columns.clear();
  filters.clear();
  key.clear();
}

void Rights::SumUp() {
  is_whole = true;
  // DELETE is a privilege on tables, and not on columns.
  on_all_opened = kSelect | kInsert | kUpdate | (on_table & kDelete);
  for (const std::vector<Privileges>* each : {&columns, &filters, &key}) {
    for (const Privileges privileges : *each) on_all_opened &= privileges | kDelete;
  }
}

bool Rights::Allow(const Request& request) const {
  ROWSOCKET_REQUIRE(is_whole);
  if (!Has(on_some_column, NeedsOf(request))) return false;
  switch (request.verb) {
    case Request::Verb::kFind:
      return AllowFind(request.find);
    case Request::Verb::kInsert:
      return FirstHave(columns, request.insert.values.size(), kInsert);
    case Request::Verb::kEdit:
      return AllowEdit(request.edit);
  }
  return false;
}

bool Rights::AllowFind(const model::Find& find) const {
  if (!FirstHave(key, find.key.size(), kSelect)) return false;
  const bool may_filter =
      std::all_of(find.filters.begin(), find.filters.end(), [this](const model::Filter& filter) {
        return filter.column >= filters.size() || Has(filters[filter.column], kSelect);
      });
  const bool answers_rows = find.modification == Modification::kNone || find.wants_before_images;
  if (!may_filter || (answers_rows && !AllHave(columns, kSelect))) return false;
  switch (find.modification) {
    case Modification::kNone:
      return true;
    case Modification::kDelete:
      return Has(on_table, kDelete);
    case Modification::kUpdate:
      return AllHave(columns, kUpdate);  // Values that are not given are empty texts.
    case Modification::kIncrement:
    case Modification::kDecrement:
      return FirstHave(columns, find.modifications.size(), kUpdate | kSelect);
  }
  return false;
}

bool Rights::AllowEdit(const model::Edit& edit) const {
  if (!AllHave(key, kSelect) || !AllHave(columns, kSelect)) return false;
  if (edit.may_insert && !(AllHave(key, kInsert) && AllHave(columns, kInsert))) return false;
  if (edit.may_delete && !Has(on_table, kDelete)) return false;
  return std::all_of(edit.may_update.begin(), edit.may_update.end(), [this](uint32_t column) {
    return column < columns.size() && Has(columns[column], kUpdate);
  });
}

// If several accounts of one turn share a slot, there are too few slots.
Rights& RightsKept::Of(uint64_t account_id, uint64_t grants_seen) {
  if (rights_.empty()) rights_.resize(model::kRightsKeptMin);
  for (;;) {
    Rights& found = rights_[account_id & (rights_.size() - 1)];
    const bool is_in_use =
        found.grants_seen == grants_seen && found.account != account_id && found.account != 0;
    if (!is_in_use || rights_.size() >= model::kRightsKeptMax) return found;
    const size_t more = 2 * rights_.size();
    rights_.clear();
    rights_.resize(more);
  }
}

}  // namespace rowsocket::engine::server
