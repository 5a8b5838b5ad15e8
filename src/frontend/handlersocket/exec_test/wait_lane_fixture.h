// A wait lane over the in-memory engine, and an owner of its jobs. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "engine/fake/session.h"
#include "exec/wait_lane.h"
#include "frontend/handlersocket/frontend.h"

namespace rowsocket::exec {

inline constexpr const char kLaneTable[] = "test.t";
inline constexpr std::chrono::seconds kTestTimeout{20};

/// An owner that gets its jobs back, in the order in which they are done.
class Owner final : public WaitJobOwner {
 public:
  void Done(WaitJobs jobs) override {
    const std::lock_guard lock(mutex_);
    ++returns_;
    std::move(jobs.begin(), jobs.end(), std::back_inserter(done_));
    changed_.notify_all();
  }
  /// The next job that is done; null when no job is done in time.
  std::unique_ptr<WaitJob> Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kTestTimeout, [this] { return !done_.empty(); })) return nullptr;
    std::unique_ptr<WaitJob> job = std::move(done_.front());
    done_.pop_front();
    return job;
  }
  std::string NextReply() {
    const std::unique_ptr<WaitJob> job = Next();
    return job != nullptr ? std::string(job->reply()) : "(nothing)";
  }
  bool IsEmpty() {
    const std::lock_guard lock(mutex_);
    return done_.empty();
  }
  /// How often the owner got jobs back.
  int returns() {
    const std::lock_guard lock(mutex_);
    return returns_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int returns_ = 0;
  std::deque<std::unique_ptr<WaitJob>> done_;
};

class WaitLaneTest : public ::testing::Test {
 protected:
  WaitLaneTest() {
    store_.CreateTable({kLaneTable, {"id", "v"}, {{"PRIMARY", {0}}}},
                       {{"1", "10"}, {"2", "20"}, {"3", "30"}});
    settings_.writable = true;
    frontend_.emplace(settings_);
    Open("P\t0\ttest\tt\t\tv\n");
  }

  /// Opens an index for all jobs. No job may be under way.
  void Open(const std::string& line) {
    engine::fake::Session session(store_, engine::LockWait::kNever);
    base::Arena arena;
    Item item;
    std::shared_ptr<engine::Index> index;
    frontend_->Parse(line, false, arena, &item);
    const engine::Outcome outcome = session.OpenIndex(*item.names, &index);
    frontend_->Opened(item, outcome, std::move(index));
  }

  std::unique_ptr<WaitJob> Job(const std::string& line) {
    auto job = std::make_unique<WaitJob>();
    job->owner = &owner_;
    job->frontend = &*frontend_;
    job->line = line;
    frontend_->Parse(job->line, false, job->arena, &job->item);
    job->wait_group_name = WaitLane::WaitGroupNameOf(job->item);
    return job;
  }
  /// Sends a job again as its worker does, when the row is locked again.
  static std::unique_ptr<WaitJob> Again(std::unique_ptr<WaitJob> job) {
    job->is_handed_back = false;
    job->must_run = true;
    return job;
  }
  /// The outcome when the session's tables are in the way of a DDL statement.
  static engine::Outcome GivesWay() {
    return engine::Outcome::Make(engine::Outcome::Result::kGivesWay,
                                 {model::ErrorCode::kLockTables});
  }
  void Submit(const std::string& line) { lane_->Submit(Job(line)); }
  static std::string Increment(const std::string& key) {
    return "0\t=\t1\t" + key + "\t1\t0\t+\t1\n";
  }
  std::unique_ptr<engine::fake::Holding> Hold(const std::string& key) {
    return store_.LockRow(kLaneTable, {key});
  }
  /// Submits a job that waits for row 2, and then `others` jobs for the same row, which are
  /// executed together.
  std::unique_ptr<engine::fake::Holding> HoldWithGroup(int others) {
    auto held = Hold("2");
    Submit(Increment("2"));
    EXPECT_TRUE(store_.AwaitWaiting(1));
    for (int i = 0; i < others; ++i) lane_->Submit(Again(Job(Increment("2"))));
    return held;
  }
  void StartLane(unsigned threads) {
    lane_ = std::make_unique<WaitLane>(factory_, stats_, commits_, threads);
  }

  engine::fake::Store store_;
  engine::fake::SessionFactory factory_{store_};
  frontend::HandlerSocketSettings settings_;
  std::optional<frontend::HandlerSocketFrontend> frontend_;
  StatRegistry stats_;
  Owner owner_;
  CommitBoard commits_;
  std::unique_ptr<WaitLane> lane_ = std::make_unique<WaitLane>(factory_, stats_, commits_, 4);
};

}  // namespace rowsocket::exec
