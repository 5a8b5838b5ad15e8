// How the calls of a command get their indexes: from what the connection has found, or by an item
// that asks for one.
#include <memory>
#include <string>
#include <utility>

#include "frontend/resp/error_text.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/frontend.h"
#include "frontend/resp/move.h"
#include "frontend/resp/rows.h"

namespace rowsocket::frontend {

using engine::Outcome;
using exec::Item;
using model::ErrorCode;
using Verb = RespVerb;

// Where the names of a key may be those of a table and are not, the key is the store's.
RespFrontend::Found RespFrontend::FindIndex(RespCall& call, base::Arena& arena,
                                            std::string* error) {
  const bool has_index =
      call.container != nullptr || (call.scan != nullptr && call.expiring_container != nullptr);
  if (!has_index) {
    const RespShape* const known = finder_.Find(call, requests_.repeats());
    if (known == nullptr) return Found::kNo;
    call.index = known->index.get();
    if (call.may_be_string && !call.is_string) {
      if (call.index == nullptr) {
        PutInStore(call, arena);
        return Found::kAgain;
      }
      if (call.verb == Verb::kMGet) {
        HideRow(call, arena);
        return Found::kAgain;
      }
      if (IsStringVerb(call.verb)) {
        *error = IsMoveVerb(call.verb) ? kRespMovesStrings : kRespWrongType;
        return Found::kWrong;
      }
    } else if (call.index == nullptr) {
      // Another command with the same columns has found that there is no such table or column.
      call.skips_unknown = MayLackFields(call) && known->error.code == ErrorCode::kFld;
      if (call.skips_unknown) return Found::kAgain;
      *error = RespFailureText(known->error, RespWork(), &call, account());
      return Found::kWrong;
    }
  }
  const std::string_view why = PrepareCall(call, account(), arena);
  if (why.empty()) return Found::kYes;
  *error = why;
  return Found::kWrong;
}

exec::Frontend::Step RespFrontend::ParseForLane(std::string_view input, base::Arena& arena,
                                                Item* item) {
  finder_.AllowStale(true);
  changes_.AllowDrop(true);
  const Step step = Parse(input, /*behind_requests=*/false, arena, item);
  changes_.AllowDrop(false);
  finder_.AllowStale(false);
  return step;
}

// The names of one index at a time: the item is parsed again when they have been looked up.
bool RespFrontend::AskForIndex(const RespCall& call, Item* item, std::string* error) {
  model::Error failure;
  const engine::IndexNames* const names = finder_.Ask(call, &failure);
  if (names == nullptr) {
    *error = RespFailureText(failure, RespWork(), &call, account());
    return false;
  }
  item->kind = Item::Kind::kSilentOpen;
  item->names = names;
  item->request.account = account();
  return true;
}

bool RespFrontend::OpenCalls(std::span<RespCall> calls, base::Arena& arena, Item* item,
                             std::string* error, const RespCall** wrong) {
  for (RespCall& call : calls) {
    if (!call.known_reply.empty()) continue;
    Found found = Found::kAgain;
    while (found == Found::kAgain) found = FindIndex(call, arena, error);
    if (found == Found::kYes) continue;
    if (wrong != nullptr) *wrong = &call;
    if (found == Found::kWrong) return true;
    *error = finder_.WhyNotAsk(calls.size());
    return !error->empty() || !AskForIndex(call, item, error);
  }
  return true;
}

void RespFrontend::Opened(Item& item, const Outcome& outcome,
                          std::shared_ptr<engine::Index> index) {
  if (tokens_.AsksFor(item)) return tokens_.Opened(outcome, std::move(index));
  finder_.Opened(outcome, std::move(index));
}

}  // namespace rowsocket::frontend
