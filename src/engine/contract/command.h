// Requests that own their values, with their answers, for tests of an engine.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/request.h"
#include "model/row_sink.h"

namespace rowsocket::engine::contract {

using model::CompareOp;
using model::Decision;
using model::Modification;
using model::Value;

/// Collects the cells of a find, as `a,b,NULL,`.
struct TextSink final : model::RowSink {
  bool Cell(std::string_view cell) override {
    if (on_cell) on_cell();
    text.append(cell).append(1, ',');
    return text.size() <= bytes_max;
  }
  bool NullCell() override { return Cell("NULL"); }

  std::string text;
  size_t bytes_max = 1000;
  std::function<void()> on_cell;  ///< Called before each cell, within the call of the session.
};

/// Stores one value in the first opened column, and remembers the row that it saw.
struct Editor final : model::RowEditor {
  explicit Editor(Decision decision, std::string value = "")
      : decision(decision), value(std::move(value)) {}
  Decision Decide(std::span<const Value> row,
                  std::span<const model::CellChange>* changes) override {
    seen = row.empty() ? "absent" : "";
    for (const Value& cell : row) seen.append(cell.is_null() ? "NULL" : cell.text()).append(1, ',');
    change = {0, Value(value)};
    *changes = {&change, 1};
    return decision;
  }

  Decision decision;
  std::string value, seen;
  model::CellChange change;
};

struct Command {
  static Command Find(CompareOp op, std::string key, uint64_t limit = 1) {
    Command command;
    command.request.find.op = op;
    command.request.find.limit = limit;
    command.texts = {std::move(key)};
    return command;
  }
  static Command Modify(Modification modification, std::string key, std::string value,
                        CompareOp op = CompareOp::kEq, uint64_t limit = 1) {
    Command command = Find(op, std::move(key), limit);
    command.request.find.modification = modification;
    command.new_texts = {std::move(value)};
    return command;
  }
  static Command Increment(std::string key, std::string by) {
    return Modify(Modification::kIncrement, std::move(key), std::move(by));
  }
  static Command StoreNull(std::string key) {
    Command command = Modify(Modification::kUpdate, std::move(key), "");
    command.stores_null = true;
    return command;
  }
  static Command Delete(std::string key) {
    return Modify(Modification::kDelete, std::move(key), "");
  }
  static Command Insert(std::vector<std::string> values) {
    Command command;
    command.request.verb = model::Request::Verb::kInsert;
    command.texts = std::move(values);
    return command;
  }
  static Command Edit(std::string key, model::RowEditor& editor) {
    Command command;
    command.request.verb = model::Request::Verb::kEdit;
    command.request.edit.editor = &editor;
    command.texts = {std::move(key)};
    return command;
  }

  /// The command of which other requests of the turn share the row.
  Command Sharing() && {
    request.shares_row = true;
    return std::move(*this);
  }

  const model::Request& Get() {
    values.clear();
    new_values.clear();
    for (const std::string& text : texts) values.emplace_back(text);
    for (const std::string& text : new_texts) new_values.emplace_back(text);
    if (stores_null) new_values.assign(1, Value());
    request.find.key = request.insert.values = request.edit.key = values;
    request.find.key_parts_given = static_cast<uint32_t>(values.size());
    request.find.modifications = new_values;
    return request;
  }

  model::Request request;
  std::vector<std::string> texts, new_texts;
  bool stores_null = false;  ///< NULL in place of new_texts.
  std::vector<Value> values, new_values;
};

}  // namespace rowsocket::engine::contract
