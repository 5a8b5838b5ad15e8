#include "frontend/resp/fields.h"

#include <algorithm>

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

bool HasFields(const RespCall& call) {
  return call.keyspace != nullptr && !call.keyspace->fields.empty();
}

}  // namespace

bool IsExpiry(const RespCall& call, std::string_view column) {
  return call.expiring_rows != nullptr &&
         IsWord(column, Lower(call.expiring_rows->definition.expire_time_column));
}

size_t ExpiryColumnAt(const RespCall& call) {
  if (call.expiring_rows == nullptr) return kNoColumn;
  const auto& columns = call.index->names().columns;
  const auto found = std::find_if(columns.rbegin(), columns.rend(), [&](const std::string& column) {
    return IsExpiry(call, column);
  });
  return found != columns.rend() ? static_cast<size_t>(columns.rend() - found) - 1 : kNoColumn;
}

bool IsExpired(const RespCall& call, const model::Value& cell) {
  return call.expiring_rows != nullptr && keyspace::ExpiryFromCell(cell) <= call.keyspaces->NowMs();
}

std::string WhyNoExpiry(const keyspace::Keyspace& keyspace, bool may_name_tables) {
  if (keyspace.container != nullptr && keyspace.container->usable()) return {};
  const std::string why = may_name_tables && keyspace.container != nullptr
                              ? keyspace.container->problem
                              : "the log says why";
  return "NOSTORE the column of expiry of this prefix cannot be used: " + why;
}

bool IsHidden(const RespCall& call, std::string_view column) {
  if (IsExpiry(call, column)) return true;
  if (!HasFields(call)) return false;
  const auto& fields = call.keyspace->fields;
  return std::find(fields.begin(), fields.end(), column) == fields.end();
}

bool HideFields(RespCall* call) {
  const Verb verb = call->verb;
  if ((!HasFields(*call) && call->expiring_rows == nullptr) || !NamesFields(verb)) return true;
  const auto& arguments = call->arguments;
  const size_t end = EndOfFields(verb, arguments.size());
  for (size_t i = 2; i < end; i += StepOfFields(verb)) {
    if (!IsHidden(*call, arguments[i])) continue;
    if (!TraitsOf(verb).may_lack_fields()) return false;
    call->skips_unknown = true;
  }
  return true;
}

bool MayLackFields(const RespCall& call) {
  return !call.is_string && !call.skips_unknown && TraitsOf(call.verb).may_lack_fields();
}

void ShowFields(const RespCall& call, bool all, engine::IndexNames* names) {
  if (!HasFields(call) && call.expiring_rows == nullptr) return;
  if (all && HasFields(call)) {
    names->lists = engine::IndexNames::Lists::kNamed;
    names->columns = call.keyspace->fields;
  }
  std::erase_if(names->columns, [&](const std::string& column) { return IsHidden(call, column); });
}

}  // namespace rowsocket::frontend
