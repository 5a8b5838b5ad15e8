#include "exec/request_text.h"

#include <algorithm>
#include <string_view>

#include "base/require.h"
#include "exec/row_name.h"
#include "exec/unit.h"
#include "model/limits.h"

namespace rowsocket::exec {

using model::Modification;
using model::Request;
using model::Value;

namespace {

class Text {
 public:
  explicit Text(bool shows_values) : shows_values_(shows_values) {}

  void Add(std::string_view text) {
    if (text_.size() < model::kSlowTextBytesMax) text_.append(text);
  }
  void Name(std::string_view name) {
    Add("`");
    Add(name);
    Add("`");
  }
  void Table(const engine::IndexNames& names) {
    Name(names.db);
    Add(".");
    Name(names.table);
  }
  void Values(std::span<const Value> values) {
    std::string_view between = "(";
    for (const Value& value : values) {
      Add(between);
      Quote(value);
      between = ", ";
    }
    Add(values.empty() ? "()" : ")");
  }
  void Set(const engine::IndexNames& names, const model::Find& find, std::string_view sign) {
    std::string_view before = " SET ";
    const size_t count = std::min(find.modifications.size(), names.columns.size());
    for (size_t i = 0; i < count; ++i) {
      Add(before);
      Name(names.columns[i]);
      Add(" = ");
      if (!sign.empty()) {
        Name(names.columns[i]);
        Add(sign);
      }
      Quote(find.modifications[i]);
      before = ", ";
    }
  }
  void Columns(const engine::IndexNames& names) {
    for (size_t i = 0; i < names.columns.size(); ++i) {
      if (i != 0) Add(", ");
      Name(names.columns[i]);
    }
  }
  void Where(const engine::IndexNames& names, std::span<const Value> key, std::string_view op) {
    if (key.empty()) return;
    Add(" WHERE KEY ");
    Name(names.index.empty() ? std::string_view("PRIMARY") : names.index);
    Add(op);
    Values(key);
  }

  std::string text_;

 private:
  void Quote(const Value& value) {
    if (value.is_null()) return Add("NULL");
    if (!shows_values_) return Add("?");
    std::string quoted = "'";
    const std::string_view text = value.text().substr(0, model::kSlowValueBytesMax);
    for (const char byte : text) {
      const auto code = static_cast<unsigned char>(byte);
      if (byte == '\'' || byte == '\\') quoted += '\\';
      quoted += code < 0x20 || code == 0x7f ? '.' : byte;
    }
    if (text.size() < value.text().size()) quoted += "...";
    Add(quoted += '\'');
  }

  const bool shows_values_;
};

std::string_view OpText(model::CompareOp op) {
  switch (op) {
    case model::CompareOp::kEq:
      return " = ";
    case model::CompareOp::kGt:
      return " > ";
    case model::CompareOp::kGe:
      return " >= ";
    case model::CompareOp::kLt:
      return " < ";
    case model::CompareOp::kLe:
      return " <= ";
    case model::CompareOp::kNe:
      break;
  }
  return " != ";
}

void AddFind(const engine::IndexNames& names, const model::Find& find, Text& text) {
  switch (find.modification) {
    case Modification::kNone:
      text.Add("SELECT ");
      text.Columns(names);
      text.Add(" FROM ");
      text.Table(names);
      break;
    case Modification::kDelete:
      text.Add("DELETE FROM ");
      text.Table(names);
      break;
    case Modification::kUpdate:
    case Modification::kIncrement:
    case Modification::kDecrement:
      text.Add("UPDATE ");
      text.Table(names);
      text.Set(names, find,
               find.modification == Modification::kIncrement   ? " + "
               : find.modification == Modification::kDecrement ? " - "
                                                               : "");
      break;
  }
  text.Where(names, find.key, OpText(find.op));
  if (find.has_in) {
    text.Add(" IN ");
    text.Values(find.in_values);
  }
  if (!find.filters.empty()) text.Add(" AND filters");
  if (find.limit != 1 || find.offset != 0) {
    text.Add(" LIMIT " + std::to_string(find.limit));
    if (find.offset != 0) text.Add(" OFFSET " + std::to_string(find.offset));
  }
}

void AddRequest(const engine::Index& index, const Request& request, Text& text) {
  const engine::IndexNames& names = index.names();
  switch (request.verb) {
    case Request::Verb::kFind:
      return AddFind(names, request.find, text);
    case Request::Verb::kInsert:
      text.Add("INSERT INTO ");
      text.Table(names);
      text.Add(" (");
      text.Columns(names);
      text.Add(") VALUES ");
      return text.Values(request.insert.values);
    case Request::Verb::kEdit:
      text.Add("UPDATE ");
      text.Table(names);
      return text.Where(names, request.edit.key, " = ");
  }
}

}  // namespace

std::string TextOf(const Item& item, const Frontend& frontend, bool shows_values) {
  ROWSOCKET_REQUIRE(item.kind == Item::Kind::kRequest);
  Text text(shows_values);
  if (item.unit != nullptr) {
    for (const UnitRequest& one : item.unit->requests) {
      if (text.text_.size() >= model::kSlowTextBytesMax) break;
      if (!text.text_.empty()) text.Add("; ");
      AddRequest(*one.index, one.request, text);
    }
    return std::move(text.text_);
  }
  if (!item.request.key().empty() || item.request.verb == Request::Verb::kInsert) {
    AddRequest(*item.index, item.request, text);
    return std::move(text.text_);
  }
  // A request without a key here has several keys at once.
  const engine::IndexNames& names = item.index->names();
  text.Add(item.request.is_write() ? "UPDATE " : "SELECT FROM ");
  text.Table(names);
  std::string_view before = " WHERE KEY IN ";
  frontend.VisitRows(item, [&](const RowName& row) {
    text.Add(before);
    text.Values(row.key());
    before = ", ";
  });
  return std::move(text.text_);
}

}  // namespace rowsocket::exec
