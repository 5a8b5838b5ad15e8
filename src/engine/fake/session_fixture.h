// A session of the in-memory engine and commands for it, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/fake/session.h"

namespace rowsocket::engine::fake {

using model::CompareOp;
using model::Modification;
using model::Value;

inline constexpr char kTable[] = "test.t";

/// What a find pushed, as `a,b,NULL,`.
struct TextSink final : model::RowSink {
  bool Cell(std::string_view cell) override {
    text.append(cell).append(1, ',');
    return text.size() <= bytes_max;
  }
  bool NullCell() override { return Cell("NULL"); }

  std::string text;
  size_t bytes_max = 1000;
};

/// A request that owns its values.
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

  const model::Request& Get() {
    values.clear();
    new_values.clear();
    for (const std::string& text : texts) values.emplace_back(text);
    for (const std::string& text : new_texts) new_values.emplace_back(text);
    request.find.key = request.insert.values = request.edit.key = values;
    request.find.key_parts_given = static_cast<uint32_t>(values.size());
    request.find.modifications = new_values;
    return request;
  }

  model::Request request;
  std::vector<std::string> texts, new_texts;
  std::vector<Value> values, new_values;
};

/// A session with the index (id; v) of the table.
struct User {
  User(Store& store, LockWait wait, std::vector<std::string> columns = {"id", "v"},
       const std::string& index_name = "")
      : session(store, wait) {
    const Outcome outcome =
        session.OpenIndex({"test", "t", index_name, std::move(columns), {}}, &index);
    EXPECT_TRUE(outcome.ok());
  }
  Outcome Do(Command command) {
    sink.text.clear();
    return session.Execute(*index, command.Get(), sink);
  }
  /// What a find in this turn sees.
  std::string See(Command command) {
    EXPECT_TRUE(Do(std::move(command)).ok());
    return sink.text;
  }
  std::string SeeAll() { return See(Command::Find(CompareOp::kGe, "0", 100)); }

  Session session;
  std::shared_ptr<engine::Index> index;
  TextSink sink;
};

class FakeSession : public ::testing::Test {
 protected:
  FakeSession() {
    store_.CreateTable({kTable, {"id", "v", "w"}, {{"PRIMARY", {0}}, {"by_v", {1}}}, true},
                       {{"1", "10", "a"}, {"2", "20", "b"}, {"10", "5", std::nullopt}});
  }
  Store store_;
};

}  // namespace rowsocket::engine::fake
