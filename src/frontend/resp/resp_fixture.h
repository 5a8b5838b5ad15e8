// A connection of RESP on the engine in memory, for tests: one command at a time, as a worker
// parses and executes it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/fake/session.h"
#include "frontend/resp/cursors.h"
#include "frontend/resp/frontend.h"

namespace rowsocket::frontend {

class RespTest : public ::testing::Test {
 protected:
  RespTest() {
    store_.CreateTable({"shop.t", {"id", "v", "w"}, {{"PRIMARY", {0}}}},
                       {{"1", "10", std::nullopt}, {"2", "20", "b"}});
    store_.CreateTable({"rowsocket.store", {"db", "k", "v", "expires"}, {{"PRIMARY", {0, 1}}}});
    store_.CreateTable({"rowsocket.tokens",
                        {"token", "request", "answer", "created"},
                        {{"PRIMARY", {0}}, {"created", {3}}}});
    shared_.schema = "shop";
    shared_.info = &info_;
    shared_.cursors = &cursors_;
    shared_.scripts = &scripts_;
    frontend_.emplace(shared_);
  }

  /// Parses one inline command as a worker does, and opens the indexes that it asks for.
  exec::Item Parse(const std::string& line, bool after_requests = false) {
    for (int attempt = 0; attempt < attempts_max_; ++attempt) {
      exec::Item item;
      bytes_parsed_ += line.size();
      const exec::Frontend::Step step = frontend_->Parse(line, after_requests, arena_, &item);
      parsed_ = step.parsed;
      consumed_ = step.consumed;
      if (!item.is_silent()) return item;
      std::shared_ptr<engine::Index> index;
      const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
      frontend_->Opened(item, outcome, std::move(index));
      frontend_->Rewind();
    }
    ADD_FAILURE() << line << " asks for indexes without end";
    return {};
  }

  /// Executes one command in a turn of its own, and returns its reply.
  std::string Ask(const std::string& command) {
    const std::string line = command + "\r\n";  // The item has views of it.
    return Run(Parse(line));
  }
  std::string Run(const exec::Item& item) {
    base::Buffer out;
    answer_ = item.error;
    if (item.kind == exec::Item::Kind::kRequest) {
      session_.BeginTurn(item.request.is_write());
      const engine::Outcome outcome = frontend_->Execute(item, session_, out);
      if (outcome.transaction_lost)
        session_.Rollback();
      else
        session_.Commit();
      answer_ = outcome.error;
    } else {
      frontend_->Reply(item, out);
    }
    frontend_->Finished(item, answer_);
    return std::string(out.view());
  }

  engine::fake::Store store_;
  engine::fake::Session session_{store_, engine::LockWait::kNever};
  RespInfo info_;
  RespCursors cursors_;
  RespClients clients_;
  RespScripts scripts_;
  RespShared shared_;
  base::Arena arena_;
  exec::Frontend::Parsed parsed_ = exec::Frontend::Parsed::kNeedMore;
  size_t consumed_ = 0;
  /// How many times Parse may parse a command: once more than it may ask for an index.
  int attempts_max_ = 5;
  model::Error answer_;      ///< How the last Run ended.
  size_t bytes_parsed_ = 0;  ///< By all calls of Parse together.
  std::optional<RespFrontend> frontend_;
};

}  // namespace rowsocket::frontend
