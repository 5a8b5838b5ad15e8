#include "frontend/resp/fields.h"

#include <algorithm>

namespace rowsocket::frontend {

using Verb = RespVerb;

namespace {

bool HasFields(const RespCall& call) {
  return call.prefix != nullptr && !call.prefix->fields.empty();
}

bool MayLack(Verb verb) {
  return verb == Verb::kHGet || verb == Verb::kHMGet || verb == Verb::kHExists ||
         verb == Verb::kHStrLen || verb == Verb::kHDel;
}

}  // namespace

bool IsHidden(const RespCall& call, std::string_view column) {
  if (!HasFields(call)) return false;
  const auto& fields = call.prefix->fields;
  return std::find(fields.begin(), fields.end(), column) == fields.end();
}

bool HideFields(RespCall* call) {
  const Verb verb = call->verb;
  if (!HasFields(*call) || !(verb == Verb::kRequire || IsOfFields(verb))) return true;
  const auto& arguments = call->arguments;
  const bool has_many = verb == Verb::kHMGet || verb == Verb::kHDel;
  const bool has_pairs = verb == Verb::kHSet || verb == Verb::kHMSet;
  const size_t end = has_many || has_pairs ? arguments.size() : 3;
  for (size_t i = 2; i < end; i += has_pairs ? 2 : 1) {
    if (!IsHidden(*call, arguments[i])) continue;
    if (!MayLack(verb)) return false;
    call->skips_unknown = true;
  }
  return true;
}

void ShowFields(const RespCall& call, bool all, engine::IndexNames* names) {
  if (!HasFields(call)) return;
  if (all) {
    names->lists = engine::IndexNames::Lists::kColumns;
    names->columns = call.prefix->fields;
    return;
  }
  std::erase_if(names->columns, [&](const std::string& column) { return IsHidden(call, column); });
}

}  // namespace rowsocket::frontend
