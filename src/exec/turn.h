// One turn: the requests that several connections had ready, executed together, one commit for all.
//
// Requests of a batch that name the same row are executed on one copy of it, which is written once
// (shared_rows.h): a request joins an open row when all requests before it on its connection have
// been executed. If that is not possible, the requests run one by one.
//
// Flow: { Add Added }* Run. Afterwards every item is answered (its reply is in its client's output
// and sendable) or waits (its client is stopped at it, and nothing after it was executed).
//
//   Run:   BeginTurn  Execute item by item  Commit  open the gates
//            |            |                    `-- failed: every request is answered with the error
//            |            |-- busy, or the turn is full: the client is stopped, its later items are
//            |            |   left for later
//            |            `-- transaction lost: Rollback, replies dropped, the batch runs again
//            `<-- up to kBatchRetriesMax times, then every request in a transaction of its own
//
// The commit gate (invariant I4): while a turn that writes runs, the outputs of its clients are
// held; they are opened after Commit has returned, which is after the changes are durable (S3).
//
// turn_rows.cc has the rows that items share, turn_finish.cc how items end, turn_audit.cc what
// audit plugins are told, turn.cc all else.
//
// Threads: one owner.
// Lifetime: items and clients belong to the caller and outlive Run.
// Limits: the caller adds kTurnRequestsMax items at most.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/random_seed.h"
#include "engine/session.h"
#include "exec/commit_board.h"
#include "exec/frontend.h"
#include "exec/latency.h"
#include "exec/shared_rows.h"
#include "exec/stats.h"
#include "model/limits.h"
#include "net/gated_output.h"

namespace rowsocket::exec {

struct TurnItem;

/// Why a connection gets no answer and is to be closed.
enum class Loss : uint8_t {
  kNone,
  kMemory,   ///< Memory ran out: what was not committed yet is rolled back. A commit that was under
             ///< way, and requests that ran alone before, may have taken effect.
  kBuffers,  ///< All connections hold too much memory, and this one a large part of it; answers so
             ///< far stand.
  kUnknown,  ///< The outcome of the turn's commit is unknown (engine::Outcome::Result).
};
inline constexpr size_t kLosses = static_cast<size_t>(Loss::kUnknown) + 1;

/// The state of a connection in a turn.
struct TurnClient {
  Frontend* frontend = nullptr;
  net::GatedOutput* out = nullptr;
  size_t out_bytes_max = SIZE_MAX;  ///< When this much is unsent, no further item is executed.
  /// The first item of this client that was not executed; the items after it were not, either. It
  /// waits for a lock (TurnItem::waits), for its client to take earlier replies, or for the next
  /// turn.
  TurnItem* stopped_at = nullptr;
  /// A find of this turn may have seen what is being committed. Set by NoteUndurable, which
  /// CommitBoard calls, and cleared by Begin.
  bool may_see_undurable = false;
  Loss loss = Loss::kNone;
  // For the histograms of latencies:
  int64_t since_ns = 0;  ///< When the first request of the turn had come.
  int64_t lock_ns = 0;   ///< How long the first request has waited in the lane before the turn.
  /// `since_ns`, by which this client's items are counted together with those of other clients
  /// (ItemRuns). kApart: they are counted by themselves, because they have waited in the lane, or
  /// their replies are held.
  int64_t joins_ns = 0;
  int64_t held_from_ns = 0;  ///< When the replies that are now held were ready.
  uint32_t held_verb = 0;    ///< The verb of the last request whose reply is held.
  uint32_t held_items = 0;   ///< How many replies are held.

  static constexpr int64_t kApart = INT64_MIN;

  /// Begins a turn. `first_came_ns` becomes since_ns, `in_lane_ns` lock_ns.
  void Begin(int64_t first_came_ns, int64_t in_lane_ns) {
    since_ns = first_came_ns;
    lock_ns = in_lane_ns;
    joins_ns = in_lane_ns == 0 ? first_came_ns : kApart;
    may_see_undurable = false;
  }
  /// Notes that a find of this turn may have seen what is being committed.
  void NoteUndurable() {
    may_see_undurable = true;
    joins_ns = kApart;
  }
  bool stopped() const { return stopped_at != nullptr; }
};

struct TurnItem {
  /// Why the item cannot be answered in this turn.
  enum class Wait : uint8_t {
    kNo,
    kForItsRow,       ///< Another session holds a lock: as far as is known, that of the item's row.
    kElsewhere,       ///< Another session holds another lock; the row may well be free.
    kForOpenOrLogin,  ///< The item opens a table that is locked, or logs in: LockWaits or Logins
                      ///< goes on with it.
  };
  /// Which part of the item stays as it is, even if its batch is rolled back and runs again.
  enum class Stands : uint8_t {
    kNothing,
    kAnswer,  ///< The answer.
    kChange,  ///< The answer, and the change, which cannot be taken back.
  };
  enum class Progress : uint8_t {
    kToDo,
    kExecuted,  ///< The item has run, and its answer is not final. With merged rows, it may have
                ///< run before items of other connections that come earlier in the turn.
    kFinished,  ///< The item's answer is final, and counted.
  };

  TurnClient* client = nullptr;
  Item item;
  size_t input_begin = 0;  ///< Offset of the item's first byte in the client's input.
  size_t input_end = 0;    ///< Offset of the first byte after the item.
  Wait wait = Wait::kNo;
  Stands stands = Stands::kNothing;
  Progress progress = Progress::kToDo;
  bool gives_way = false;  ///< The item gives way to other sessions
                           ///< (engine::Outcome::Result::kGivesWay).
  /// The item, or a request of its unit, was executed on a row that stays open.
  bool ran_on_open_row = false;
  bool is_told = false;  ///< Audit plugins have been told of the item.
  RanAlone ran_alone = RanAlone::kNot;
  std::string kept_reply;    ///< For Stands::kChange: the reply of the statement.
  model::Error answer;       ///< The answer to a kRequest that was executed.
  uint64_t rows = 0;         ///< Rows that the item sent or changed.
  uint64_t rows_passed = 0;  ///< Outcome::rows_passed.
  /// In a batch: the position in SharedRows of the row that the item names together with others.
  uint32_t shared_row = SharedRow::kNone;
  TurnItem* next_in_row = nullptr;

  bool waits() const { return wait != Wait::kNo; }
  /// Notes that the item waits for the lock that it has met, as the outcome says.
  void WaitFor(const engine::Outcome& outcome) {
    wait = outcome.waits_elsewhere ? Wait::kElsewhere : Wait::kForItsRow;
  }
  /// Whether no turn can answer the item as it is: it waits for a lock, opens a table that is
  /// locked, or logs in.
  bool is_left() const {
    return waits() || (item.kind != Item::Kind::kReply && item.kind != Item::Kind::kRequest);
  }
  /// Whether the item has an answer that stands.
  bool is_settled() const { return stands != Stands::kNothing; }
  /// Gives the item an answer that stands. A change that stands stays one.
  void Settle(model::Error error) {
    if (!is_settled()) stands = Stands::kAnswer;
    answer = error;
  }
  bool is_executed() const { return progress != Progress::kToDo; }
  bool is_finished() const { return progress == Progress::kFinished; }
  bool is_write() const { return item.kind == Item::Kind::kRequest && item.request.is_write(); }
  /// Whether the item is one request with a token that changes the row that it names. Such an item
  /// shares the row as units do, because its token is a statement of its own. Other composite
  /// writes are units, edits, or name no row.
  bool is_write_with_token() const {
    return item.kind == Item::Kind::kRequest && item.is_composite && item.unit == nullptr &&
           item.request.is_find_modify() && item.row_name().is_row();
  }
  /// Whether the client is stopped neither at the item nor before it.
  bool is_answered() const { return !client->stopped() || this < client->stopped_at; }
};

/// Counts an item that has its final answer, in `stats` and for its connection, and tells its
/// frontend (turn_finish.cc).
void EndItem(const Item& item, const model::Error& answer, uint64_t rows, Frontend& frontend,
             StatBlock& stats);

class Turn {
 public:
  /// What the end of an item's lock wait means to the other items.
  enum class WaitPolicy : uint8_t {
    kNever,          ///< Nothing: the session waits for no lock.
    kAllForOneLock,  ///< All items wait for one lock: the end of one wait ends them all.
  };
  Turn(StatBlock& stats, CommitBoard& commits, WaitPolicy wait_policy = WaitPolicy::kNever)
      : stats_(stats), commits_(commits), wait_policy_(wait_policy) {}

  void Clear() {
    items_.clear();
    writes_ = false;
  }
  TurnItem& Add(TurnClient& client);
  /// Call when the last added item is complete.
  void Added() { writes_ = writes_ || items_.back().is_write(); }
  void DropLast() { items_.pop_back(); }
  void DropAllOf(const TurnClient& client);
  /// Moves the items from `first` on to the other turn. REQUIRES: this turn has counted none of
  /// them among its writes.
  void MoveTo(Turn& other, size_t first);

  std::vector<TurnItem>& items() { return items_; }
  const std::vector<TurnItem>& items() const { return items_; }
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  /// Whether one of the items, or one that was dropped or moved since, is a write.
  bool writes() const { return writes_; }
  /// Executes the items. If memory runs out, what is not committed yet is rolled back, and all
  /// clients are lost (Loss::kMemory).
  void Run(engine::Session& session);
  /// Counts the items that gave way and do not run again, as answered items are counted, and tells
  /// audit plugins of them.
  void FinishThoseThatGiveWay(engine::Session& session);

  /// Sets for how long a run goes on beginning items, PortSettings::turn_ms_max.
  void LimitTime(int64_t ms_max) { ms_max_ = ms_max; }
  /// Sets how long a run is tried again after conflicts in a cluster. For tests.
  void LimitConflicts(int64_t ms_max) { conflict_ms_max_ = ms_max; }
  /// Whether the turn began no more items, because it had taken too much time or too many bytes of
  /// replies.
  bool is_full() const { return is_full_; }

  /// Whether another node of a cluster has taken back an attempt, after which the turn slept.
  bool met_conflicts() const { return pause_us_max_ != kFirstPauseUs; }

  /// Whether the item has shared one change of its row with other items.
  bool IsMerged(const TurnItem& item) const {
    if (!merges_ || !item.is_executed()) return false;
    return item.ran_on_open_row || (item.shared_row != SharedRow::kNone &&
                                    rows_.at(item.shared_row).runs_as_one_statement());
  }

  /// When the phases of the last run began and ended.
  const TurnTimes& times() const { return times_; }

  static constexpr std::chrono::nanoseconds kNoCommit{-1};
  /// How long the last commit of a batch took; kNoCommit if the batch had nothing to commit.
  std::chrono::nanoseconds commit_time() const { return commit_time_; }

 private:
  void RunAll(engine::Session& session);
  void Lose(engine::Session& session);
  static void LoseClients(std::span<TurnItem> items, Loss loss);
  /// False when the transaction is lost.
  bool RunOnce(engine::Session& session, std::span<TurnItem> items, bool writes);
  /// Makes the items, whose transaction is lost, ready to run again. The next run finds out again
  /// which items wait, as other requests may then run before them.
  static void TakeBack(std::span<TurnItem> items);
  engine::Outcome CommitWrites(engine::Session& session, std::span<const TurnItem> items);
  engine::Outcome EndReads(engine::Session& session);
  /// False when the transaction is lost.
  bool ExecuteAll(engine::Session& session, std::span<TurnItem> items);
  /// False when the transaction is lost. `alone`: no other request is in the transaction.
  bool ExecuteItem(engine::Session& session, TurnItem& item, bool alone);
  void StartAnew();
  bool HasRoomFor(const TurnClient& client) const;
  /// Whether an item after this one was executed before the batch was lost, and cannot be taken
  /// back.
  bool IsBeforePermanent(const TurnItem& item) const;
  void NoteReply(size_t bytes);
  void LookAtClock();
  // Audit (turn_audit.cc).
  static void TellAccesses(engine::Session& session, std::span<TurnItem> items);
  /// Tells of items whose turn has ended, in a turn that does nothing else.
  static void TellAccessesAfterwards(engine::Session& session, std::span<TurnItem> items);
  // Rows (turn_rows.cc).
  /// Whether the item is to be executed together with others of its row. False for an item that has
  /// its answer already or waits, which ExecuteItem deals with.
  bool RunsWithItsRow(const TurnItem& item);
  /// Executes `first`, whose row other items of the turn name, too: together with them on the open
  /// row, or by itself if the row cannot be opened. False when the transaction is lost.
  bool ExecuteAsOneRow(engine::Session& session, TurnItem& first);
  /// Executes the items that name the row of `first` on the row that the session has opened.
  bool ExecuteItemsOfRow(engine::Session& session, TurnItem& first);
  void StopRow(TurnItem& first, model::Error error);
  /// Whether all items before this one on its connection have been executed.
  bool IsNext(const TurnItem& item) const;
  bool CloseRows(engine::Session& session);
  void StopMerging();
  void OnLost(TurnItem& item, const engine::Outcome& outcome, bool alone);
  /// Gives the items after this one the same answer, if the answer says that their common wait has
  /// ended.
  void AnswerCommonWait(const TurnItem& item, const engine::Outcome& outcome);
  static void ReplySettled(const TurnItem& item, base::Buffer& out);
  /// Answers all items of a transaction that has changed nothing with the error.
  void AnswerAll(std::span<TurnItem> items, model::Error error);
  /// Whether the items, whose transaction must be split, may fit when they run again: several items
  /// do, each by itself; one unit once, without the locks that it takes first.
  static bool MayFitNextTime(std::span<TurnItem> items);
  void RunOneByOne(engine::Session& session);
  void RunAlone(engine::Session& session, TurnItem& item);
  /// Answers items whose transaction was lost each time it was tried.
  void GiveUp(engine::Session& session, std::span<TurnItem> items);
  // After another node of a cluster has taken the turn back:
  bool IsConflictTimeUp() const;
  bool PauseAfterConflict();
  static void HoldGates(std::span<TurnItem> items);
  static void DropReplies(std::span<TurnItem> items);
  /// Counts the final answers, and opens the gates (turn_finish.cc).
  void Finish(std::span<TurnItem> items);
  void FinishItem(TurnItem& item);

  StatBlock& stats_;
  CommitBoard& commits_;
  const WaitPolicy wait_policy_;
  std::vector<TurnItem> items_;
  SharedRows rows_;
  bool writes_ = false;
  bool merges_ = false;             ///< Some items share a row, and rows can be written as a whole.
  uint64_t merged_rows_ = 0;        ///< Rows merged in this attempt.
  uint64_t merged_requests_ = 0;    ///< Requests merged in this attempt.
  engine::OpenRowTally open_rows_;  ///< Rows that stayed open in this attempt.
  bool must_split_ = false;         ///< The batch cannot be done in one transaction.
  bool has_permanent_ = false;
  static constexpr int64_t kFirstPauseUs = 250;
  bool was_conflict_ = false;  ///< The last attempt was lost to another node of the cluster.
  int64_t conflict_ms_max_ = model::kConflictRetryMsMax;
  int64_t pause_us_max_ = kFirstPauseUs;
  std::minstd_rand random_{static_cast<std::minstd_rand::result_type>(base::RandomSeed())};
  bool is_full_ = false;
  uint32_t executed_ = 0;  ///< Executions of items in this turn.
  size_t reply_bytes_ = 0;
  int64_t began_ms_ = 0;
  int64_t ms_max_ = model::kTurnMsMax;
  CommitUnderWay commit_;
  std::chrono::nanoseconds commit_time_{0};
  TurnTimes times_;
};

}  // namespace rowsocket::exec
