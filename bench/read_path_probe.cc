// Executes COUNT finds with all of Rowsocket's code between a socket and an engine: for counting
// instructions (callgrind) and allocations, without a clock.
//
//   read_path_probe parse COUNT     a line becomes an item
//   read_path_probe encode COUNT    a row of three columns becomes a reply
//   read_path_probe turn COUNT      both, in turns of 128 requests, on an engine that has every row
//   read_path_probe resp COUNT      the same for HMGET of three fields over RESP
//   read_path_probe watch1 COUNT    what is counted of finds that have run, in turns of 30
//                                   connections with one find each: latencies, use, hot rows
//   read_path_probe watch16 COUNT   the same with 16 finds each
//   read_path_probe watchhot COUNT  what is counted of changes of one row that have run, in turns
//                                   of 256 connections with one change each
//
// Prints the number of allocations after a first round.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "exec/turn.h"
#include "exec/worker_context.h"
#include "frontend/handlersocket/frontend.h"
#include "frontend/handlersocket/verbs.h"
#include "frontend/resp/cursors.h"
#include "frontend/resp/frontend.h"
#include "net/test_allocations.h"
#include "protocol/handlersocket/encoder.h"

namespace rowsocket {
namespace {

constexpr uint64_t kRequestsInTurn = 128;
constexpr std::string_view kName = "user0012345";
constexpr std::string_view kEmail = "user12345@example.com";
constexpr std::string_view kCreated = "2010-01-09 13:45:00";

bool SendRow(model::RowSink& sink) {
  return sink.Cell(kName) && sink.Cell(kEmail) && sink.Cell(kCreated);
}

void Require(bool holds) {
  if (!holds) abort();
}

/// Answers every find with the same row; cannot write.
class OneRowSession final : public engine::Session {
 public:
  engine::Outcome OpenIndex(const engine::IndexNames& names,
                            std::shared_ptr<engine::Index>* index) override {
    *index = indexes_.Get(names);
    return {};
  }
  engine::Outcome MayOpen(const engine::IndexNames&, const model::Account&) override { return {}; }
  engine::Outcome MayExecute(engine::Index&, const model::Request&) override { return {}; }
  engine::Outcome Inspect(engine::Index&, engine::IndexFacts*) override { return {}; }
  engine::Outcome EstimateRows(engine::Index&, uint64_t*) override { return {}; }
  int64_t row_wait_ms() const override { return 50000; }
  void BeginTurn(bool) override {}
  engine::Outcome Execute(engine::Index&, const model::Request&, model::RowSink& sink) override {
    engine::Outcome outcome;
    outcome.rows = 1;
    if (!SendRow(sink)) outcome.error.code = model::ErrorCode::kResultsize;
    return outcome;
  }
  engine::RowOpening BeginRow(engine::Index&, const model::Request&) override {
    return engine::RowOpening::Refused(engine::NotMergeable::kEngine);
  }
  engine::NotMergeable RowTakes(const model::Request&) const override {
    return engine::NotMergeable::kEngine;
  }
  engine::Outcome EndRow() override { return {}; }
  engine::Outcome CloseRowsReachedBy(engine::Index&, const model::Request&) override { return {}; }
  engine::Outcome CloseRows(engine::OpenRowTally*) override { return {}; }
  engine::Outcome BeginUnit() override { return {}; }
  engine::Outcome EndUnit(bool) override { return {}; }
  void RefuseWaits(bool) override {}
  bool HoldsRows() const override { return false; }
  engine::Outcome Commit() override { return {}; }
  void Rollback() override {}
  void ReleaseTables() override {}
  bool HasToRelease() const override { return false; }
  bool PrepareCommit() override { return true; }
  bool WaitsForLocks() const override { return false; }
  int64_t slow_us() const override { return INT64_MAX; }
  void LogSlow(const engine::SlowRequest&) override {}
  bool WantsAccesses() const override { return false; }
  void TellAccess(const engine::TableAccess&) override {}
  void EndAccesses() override {}
  bool ShouldStop() const override { return false; }
  void Describe(std::string_view) override {}
  void Interrupt() override {}

 private:
  engine::IndexRegistry indexes_;
};

/// A connection that has opened an index, and the bytes that it sends in one turn.
class Probe {
 public:
  Probe() : frontend_(settings_), stats_(registry_), turn_(stats_, commits_) {
    client_.frontend = &frontend_;
    client_.out = &out_;
    exec::Item item;
    frontend_.Parse("P\t1\ttest\tuser\tPRIMARY\tuser_name,user_email,created\n", false, arena_,
                    &item);
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
    frontend_.Opened(item, outcome, std::move(index));
    for (uint64_t i = 0; i < kRequestsInTurn; ++i) {
      input_ += "1\t=\t1\t" + std::to_string(100'000 + i) + "\n";
    }
  }

  void Parse(uint64_t count) {
    std::string_view input;
    for (uint64_t i = 0; i < count; ++i) {
      if (input.empty()) {
        input = input_;
        arena_.Reset();
      }
      exec::Item item;
      input.remove_prefix(frontend_.Parse(input, i != 0, arena_, &item).consumed);
      Require(item.kind == exec::Item::Kind::kRequest);
    }
  }

  void Encode(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      handlersocket::RowEncoder rows(3, settings_.limits.reply_bytes_max, &out_.bytes());
      Require(SendRow(rows));
      rows.Finish();
      out_.ReleaseToGate();
      if (out_.sendable_bytes() > (1u << 15)) out_.Consume(out_.sendable_bytes());
    }
  }

  void Turns(uint64_t count) {
    for (uint64_t done = 0; done < count; done += kRequestsInTurn) {
      turn_.Clear();
      arena_.Reset();
      client_.stopped_at = nullptr;
      std::string_view input = input_;
      while (!input.empty()) {
        exec::TurnItem& item = turn_.Add(client_);
        item.input_begin = input_.size() - input.size();
        input.remove_prefix(
            frontend_.Parse(input, item.input_begin != 0, arena_, &item.item).consumed);
        item.input_end = input_.size() - input.size();
        turn_.Added();
      }
      turn_.Run(session_);
      Require(out_.sendable().starts_with("0\t3\tuser0012345\t"));
      out_.Consume(out_.sendable_bytes());
    }
  }

  bool Run(std::string_view part, uint64_t count) {
    if (part == "parse")
      Parse(count);
    else if (part == "encode")
      Encode(count);
    else if (part == "turn")
      Turns(count);
    else
      return false;
    return true;
  }

 private:
  frontend::HandlerSocketSettings settings_;
  frontend::HandlerSocketFrontend frontend_;
  exec::StatRegistry registry_;
  exec::StatBlock stats_;
  exec::CommitBoard commits_;
  exec::Turn turn_;
  OneRowSession session_;
  base::Arena arena_;
  net::GatedOutput out_;
  exec::TurnClient client_;
  std::string input_;
};

/// A connection of RESP, and the commands that it sends in one turn.
class RespProbe {
 public:
  RespProbe() : stats_(registry_), turn_(stats_, commits_) {
    shared_.info = &info_;
    shared_.cursors = &cursors_;
    shared_.scripts = &scripts_;
    frontend_ = std::make_unique<frontend::RespFrontend>(shared_);
    client_.frontend = frontend_.get();
    client_.out = &out_;
    for (uint64_t i = 0; i < kRequestsInTurn; ++i) {
      input_ += "*5\r\n$5\r\nHMGET\r\n$16\r\ntest.user:" + std::to_string(100'000 + i) +
                "\r\n$9\r\nuser_name\r\n$10\r\nuser_email\r\n$7\r\ncreated\r\n";
    }
  }

  void Turns(uint64_t count) {
    for (uint64_t done = 0; done < count; done += kRequestsInTurn) {
      turn_.Clear();
      arena_.Reset();
      client_.stopped_at = nullptr;
      std::string_view input = input_;
      while (!input.empty()) {
        exec::TurnItem& item = turn_.Add(client_);
        item.input_begin = input_.size() - input.size();
        input.remove_prefix(
            frontend_->Parse(input, item.input_begin != 0, arena_, &item.item).consumed);
        item.input_end = input_.size() - input.size();
        if (item.item.is_silent()) {
          Open(item.item);
          turn_.DropLast();
        } else {
          turn_.Added();
        }
      }
      turn_.Run(session_);
      Require(out_.sendable().starts_with("*3\r\n$11\r\nuser0012345\r\n"));
      out_.Consume(out_.sendable_bytes());
    }
  }

 private:
  void Open(exec::Item& item) {
    std::shared_ptr<engine::Index> index;
    const engine::Outcome outcome = session_.OpenIndex(*item.names, &index);
    frontend_->Opened(item, outcome, std::move(index));
    frontend_->Rewind();
  }

  frontend::RespInfo info_;
  frontend::RespCursors cursors_;
  frontend::RespScripts scripts_;
  frontend::RespShared shared_;
  std::unique_ptr<frontend::RespFrontend> frontend_;
  exec::StatRegistry registry_;
  exec::StatBlock stats_;
  exec::CommitBoard commits_;
  exec::Turn turn_;
  OneRowSession session_;
  base::Arena arena_;
  net::GatedOutput out_;
  exec::TurnClient client_;
  std::string input_;
};

/// A turn of requests, as WatchProbe counts it.
struct WatchedTurn {
  size_t clients;
  size_t requests_of_client;
  bool changes_one_row;  ///< False: each request finds a row of its own.
};

/// What a worker counts of a turn of requests (NoteTurn, NoteSent), without the turn itself, at
/// kRequestsPerSecond, on which hot rows depend.
class WatchProbe {
 public:
  explicit WatchProbe(const WatchedTurn& watched)
      : core_(Context()), turn_(core_.stats, commits_), clients_(watched.clients) {
    const size_t requests = watched.clients * watched.requests_of_client;
    const size_t rows = watched.changes_one_row ? 1 : requests;
    for (size_t i = 0; i < rows; ++i) keys_.push_back(std::to_string(i));
    for (const std::string& key : keys_) values_.emplace_back(std::string_view(key));
    const int64_t now_ns = base::NowNs();
    for (size_t i = 0; i < requests; ++i) {
      exec::TurnClient& client = clients_[i / watched.requests_of_client];
      client.frontend = &frontend_;
      client.Begin(now_ns, 0);
      AddFind(client, values_[i % rows]);
      if (watched.changes_one_row) {
        turn_.items().back().item.request.find.modification = model::Modification::kIncrement;
      }
      turn_.Added();
    }
  }

  void Turns(uint64_t count) {
    for (uint64_t done = 0; done < count; done += turn_.size()) {
      requests_ += turn_.size();
      core_.hot_rows.Flush(static_cast<int64_t>(requests_ * 1000 / kRequestsPerSecond));
      core_.NoteTurn(turn_, base::NowNs(), &session_);
      core_.NoteSent(turn_.times(), &session_);
    }
  }

 private:
  static constexpr uint64_t kRequestsPerSecond = 100'000;

  exec::WorkerContext Context() {
    port_.latency = &latency_;
    port_.hot_rows = &hot_rows_;
    port_.usage = &usage_;
    port_.slow_log = &slow_log_;
    exec::WorkerContext context;
    context.settings = &port_;
    context.stats = &registry_;
    return context;
  }

  void AddFind(exec::TurnClient& client, const model::Value& key) {
    exec::TurnItem& item = turn_.Add(client);
    item.progress = exec::TurnItem::Progress::kFinished;
    item.rows = 1;
    item.item.kind = exec::Item::Kind::kRequest;
    item.item.verb = 1;
    item.item.index = &index_;
    item.item.request.find.op = model::CompareOp::kEq;
    item.item.request.find.limit = 1;
    item.item.request.find.key = {&key, 1};
    item.item.request.find.key_parts_given = 1;
  }

  static std::string_view NameOf(uint32_t) { return "find"; }
  static bool ShowsValues() { return false; }

  exec::StatRegistry registry_;
  exec::CommitBoard commits_;
  exec::LatencyRegistry latency_{std::size(frontend::kHandlerSocketVerbNames), /*since=*/nullptr};
  exec::HotRows hot_rows_;
  exec::Usage usage_;
  exec::SlowLog slow_log_{"probe", NameOf, ShowsValues};
  exec::PortSettings port_;
  exec::WorkerCore core_;
  exec::Turn turn_;
  frontend::HandlerSocketSettings settings_;
  frontend::HandlerSocketFrontend frontend_{settings_};
  engine::Index index_{{"test", "user", "PRIMARY", {"user_name"}, {}}, 0, 1};
  OneRowSession session_;
  std::vector<exec::TurnClient> clients_;
  std::vector<std::string> keys_;
  std::vector<model::Value> values_;
  uint64_t requests_ = 0;
};

struct Probes {
  Probe handlersocket;
  RespProbe resp;
  WatchProbe watch1{{30, 1, false}}, watch16{{30, 16, false}}, watchhot{{256, 1, true}};

  bool Run(std::string_view part, uint64_t count) {
    if (part == "resp")
      resp.Turns(count);
    else if (part == "watch1")
      watch1.Turns(count);
    else if (part == "watch16")
      watch16.Turns(count);
    else if (part == "watchhot")
      watchhot.Turns(count);
    else
      return handlersocket.Run(part, count);
    return true;
  }
};

int Main(std::string_view part, std::string_view number) {
  uint64_t count = 0;
  std::from_chars(number.data(), number.data() + number.size(), count);
  const auto probes = std::make_unique<Probes>();
  // Buffers reach their final size in the first rounds.
  if (!probes->Run(part, 10 * kRequestsInTurn)) return 2;
  const size_t before = net::AllocationCount();
  probes->Run(part, count);
  printf("%zu allocations\n", net::AllocationCount() - before);
  return 0;
}

}  // namespace
}  // namespace rowsocket

int main(int argc, char** argv) {
  if (argc == 3) return rowsocket::Main(argv[1], argv[2]);
  fprintf(stderr, "usage: read_path_probe parse|encode|turn|resp|watch1|watch16|watchhot COUNT\n");
  return 2;
}
