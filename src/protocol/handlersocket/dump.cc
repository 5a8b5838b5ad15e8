#include "protocol/handlersocket/dump.h"

#include "base/test_quoted.h"

namespace rowsocket::handlersocket {

namespace {

using base::Quoted;
using model::Value;

std::string DumpOne(const Value& value) { return value.is_null() ? "NULL" : Quoted(value.text()); }
std::string DumpOne(std::string_view name) { return Quoted(name); }

const char* Sign(model::CompareOp op) {
  switch (op) {
    case model::CompareOp::kEq:
      return "=";
    case model::CompareOp::kGt:
      return ">";
    case model::CompareOp::kGe:
      return ">=";
    case model::CompareOp::kLt:
      return "<";
    case model::CompareOp::kLe:
      return "<=";
    case model::CompareOp::kNe:
      return "!=";
  }
  return "?";
}

std::string DumpOne(const model::Filter& filter) {
  return std::string(filter.stops_scan ? "W " : "F ") + Sign(filter.op) + ' ' +
         std::to_string(filter.column) + ' ' + DumpOne(filter.value);
}

std::string DumpOne(const model::Gtid& gtid) {
  return std::to_string(gtid.domain) + '-' + std::to_string(gtid.server) + '-' +
         std::to_string(gtid.number);
}

std::string DumpOne(const model::GtidRange& range) {
  std::string text(range.uuid);
  if (!range.tag.empty()) text.append(":").append(range.tag);
  return text + ':' + std::to_string(range.first) + '-' + std::to_string(range.last);
}

template <typename T>
std::string List(std::span<const T> items, const char* separator = ",") {
  std::string list = "[";
  for (const T& item : items) {
    if (list.size() > 1) list += separator;
    list += DumpOne(item);
  }
  return list + ']';
}

std::string DumpFind(const model::Find& find) {
  std::string text = Sign(find.op);
  text += ' ' + std::to_string(find.key_parts_given) + List(find.key);
  text += " limit=" + std::to_string(find.limit) + " offset=" + std::to_string(find.offset);
  if (find.has_in) text += " in=" + std::to_string(find.in_part) + List(find.in_values);
  if (!find.filters.empty()) text += " filters=" + List(find.filters, "; ");
  if (find.modification != model::Modification::kNone) {
    constexpr char kLetters[] = " UD+-";
    text += std::string(" mod=") + kLetters[static_cast<size_t>(find.modification)];
    text += (find.wants_before_images ? "?" : "") + List(find.modifications);
  }
  return text;
}

std::string DumpServerQuestion(const ServerQuestion& question) {
  switch (question.kind) {
    case ServerQuestion::Kind::kHealth:
      return "tell";
    case ServerQuestion::Kind::kTakesReads:
      return "read" +
             (question.lag_max_s ? " lag=" + std::to_string(*question.lag_max_s) : std::string());
    case ServerQuestion::Kind::kTakesWrites:
      return "write";
    case ServerQuestion::Kind::kServesGroups:
      return "group";
    case ServerQuestion::Kind::kServesNames:
      return "name";
    case ServerQuestion::Kind::kPosition:
      return "position";
    case ServerQuestion::Kind::kHasExecuted:
      return "at " +
             (question.gtid_ranges.empty() ? List(question.gtids) : List(question.gtid_ranges));
  }
  return "?";
}

std::string DumpOpenIndex(const OpenIndex& open) {
  return Quoted(open.database) + ' ' + Quoted(open.table) + ' ' + Quoted(open.index) + ' ' +
         List(open.columns) + ' ' + List(open.filter_columns);
}

}  // namespace

std::string Dump(const Command& command) {
  std::string text;
  const std::string id = (command.has_index_id ? std::to_string(command.index_id) : "-") + ' ';
  switch (command.kind) {
    case Command::Kind::kInvalid:
      text = "invalid";
      break;
    case Command::Kind::kOpenIndex:
      text = "open " + id + DumpOpenIndex(command.open_index);
      break;
    case Command::Kind::kAuth:
      text = "auth " + DumpOne(command.auth_key);
      break;
    case Command::Kind::kServerQuestion:
      text = "health " + DumpServerQuestion(command.server_question);
      break;
    case Command::Kind::kName:
      text = "name " + Quoted(command.client_name);
      break;
    case Command::Kind::kRequest:
      text = command.request.verb == model::Request::Verb::kInsert
                 ? "insert " + id + List(command.request.insert.values)
                 : "find " + id + DumpFind(command.request.find);
      break;
  }
  if (command.wants_write) text += " write";
  for (size_t code = 1; code < model::kErrorCodes; ++code) {
    const auto error = static_cast<model::ErrorCode>(code);
    if (command.errors.Has(error)) text.append(" !").append(model::Name(error));
  }
  return text;
}

}  // namespace rowsocket::handlersocket
