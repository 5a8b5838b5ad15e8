#include "frontend/resp/call_opener.h"

#include "frontend/resp/command.h"
#include "frontend/resp/error_text.h"
#include "frontend/resp/fields.h"
#include "frontend/resp/key_locator.h"
#include "frontend/resp/move.h"
#include "frontend/resp/rows.h"

namespace rowsocket::frontend {

using exec::Item;
using model::ErrorCode;
using Verb = RespVerb;

RespCallOpener::Found RespCallOpener::Find(RespCall& call, const model::Account* account,
                                           base::Arena& arena, std::string* error) {
  const bool has_index =
      call.container != nullptr || (call.scan != nullptr && call.expiring_rows != nullptr);
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
      *error = RespFailureText(known->error, RespWork(), &call, account);
      return Found::kWrong;
    }
  }
  const std::string_view why = PrepareCall(call, account, arena);
  if (why.empty()) return Found::kYes;
  *error = why;
  return Found::kWrong;
}

// Asks for one index at a time: the item is parsed again when the index was looked up.
bool RespCallOpener::Ask(const RespCall& call, const model::Account* account, Item* item,
                         std::string* error) {
  model::Error failure;
  const engine::IndexNames* const names = finder_.Ask(call, &failure);
  if (names == nullptr) {
    *error = RespFailureText(failure, RespWork(), &call, account);
    return false;
  }
  item->kind = Item::Kind::kSilentOpen;
  item->names = names;
  item->request.account = account;
  return true;
}

bool RespCallOpener::Open(std::span<RespCall> calls, const model::Account* account,
                          base::Arena& arena, Item* item, std::string* error,
                          const RespCall** wrong) {
  for (RespCall& call : calls) {
    if (!call.known_reply.empty()) continue;
    Found found = Found::kAgain;
    while (found == Found::kAgain) found = Find(call, account, arena, error);
    if (found == Found::kYes) continue;
    if (wrong != nullptr) *wrong = &call;
    if (found == Found::kWrong) return true;
    *error = finder_.WhyNotAsk(calls.size());
    return !error->empty() || !Ask(call, account, item, error);
  }
  return true;
}

}  // namespace rowsocket::frontend
