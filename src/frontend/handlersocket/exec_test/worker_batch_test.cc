// A worker and its batch executor: which connections wait for a commit, and which do not.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "frontend/handlersocket/exec_test/test_commits.h"
#include "frontend/handlersocket/exec_test/test_port.h"

namespace rowsocket::exec {
namespace {

using engine::Outcome;
using engine::fake::Call;

std::string Insert(unsigned key) { return "0\t+\t2\t" + std::to_string(key) + "\tx\n"; }

class WorkerBatchTest : public ::testing::Test {
 protected:
  TestPort server_;
};

/// HandlerSocket that counts how often it parses something.
class CountingFrontend final : public Frontend {
 public:
  CountingFrontend(const frontend::HandlerSocketSettings& settings, std::atomic<unsigned>& items)
      : inner_(settings), items_(items) {}
  Step Parse(std::string_view input, bool after_requests, base::Arena& arena, Item* item) override {
    const Step step = inner_.Parse(input, after_requests, arena, item);
    items_ += step.parsed == Parsed::kItem;
    return step;
  }
  void Rewind() override { inner_.Rewind(); }
  size_t input_bytes_max() const override { return inner_.input_bytes_max(); }
  bool authenticated() const override { return inner_.authenticated(); }
  void Opened(Item& item, const Outcome& outcome, std::shared_ptr<engine::Index> index) override {
    inner_.Opened(item, outcome, std::move(index));
  }
  Outcome Execute(const Item& item, engine::Session& session, base::Buffer& out) const override {
    return inner_.Execute(item, session, out);
  }
  bool MayConcern(const Item& item, const WriteSet& writes) const override {
    return inner_.MayConcern(item, writes);
  }
  void Reply(const Item& item, base::Buffer& out) const override { inner_.Reply(item, out); }
  void ReplyError(const Item& item, model::Error error, base::Buffer& out) const override {
    inner_.ReplyError(item, error, out);
  }

 private:
  frontend::HandlerSocketFrontend inner_;
  std::atomic<unsigned>& items_;
};

// Escaped values lie in the memory of the round, which others reuse while the batch waits for its
// commit.
TEST_F(WorkerBatchTest, FirstWriteOfAConnectionIsParsedOnce) {
  std::atomic<unsigned> items{0};
  server_.make_frontend = [&] {
    return std::make_unique<CountingFrontend>(server_.frontend, items);
  };
  server_.Start();
  LineClient first = server_.ConnectAndOpen();
  LineClient second = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  first.Send(Add(1));
  ASSERT_TRUE(held.AwaitCommit());
  EXPECT_EQ(4u, items);
  second.Send("0\t+\t2\t7\t\x01\x49\x01\x4a\n");
  for (int i = 0; i < 10; ++i) EXPECT_EQ("0\t2\t3\t30", reader.Ask("0\t=\t1\t3\n"));
  held.LetGo();
  EXPECT_EQ("0\t1\t1", first.ReadLine());
  EXPECT_EQ("0\t1", second.ReadLine());
  EXPECT_EQ(15u, items);
  EXPECT_EQ("0\t2\t7\t\x01\x49\x01\x4a", reader.Ask("0\t=\t1\t7\n"));
  server_.Stop();  // The frontends count in a local variable.
}

TEST_F(WorkerBatchTest, WritesThatComeMeanwhileShareTheNextCommit) {
  server_.Start();
  LineClient first = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  std::vector<LineClient> writers;
  for (int i = 0; i < 50; ++i) writers.push_back(server_.ConnectAndOpen());
  HeldCommits held(server_.store);
  first.Send(Add(3));
  ASSERT_TRUE(held.AwaitCommit());
  for (unsigned i = 0; i < writers.size(); ++i) writers[i].Send(Insert(100 + i) + Add(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  EXPECT_EQ(0u, server_.Stat(Stat::kCommits));
  held.LetGo();
  EXPECT_EQ("0\t1\t1", first.ReadLine());
  for (LineClient& writer : writers) {
    EXPECT_EQ("0\t1", writer.ReadLine());
    EXPECT_EQ("0\t1\t1", writer.ReadLine());
  }
  EXPECT_EQ(2u, server_.Stat(Stat::kCommits));
  EXPECT_EQ(2u, server_.Stat(Stat::kBatches));
  EXPECT_EQ(101u, server_.Stat(Stat::kBatchRequests));
  EXPECT_EQ("0\t2\t1\t60", reader.Ask(kFind1));
}

TEST_F(WorkerBatchTest, ConnectionIsAnsweredInOrderWhateverItSendsMeanwhile) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  client.Send(Add(2) + "0\t=\t1\t2\n");
  ASSERT_TRUE(held.AwaitCommit());
  client.Send("bad\n0\t=\t1\t3\n" + Insert(5));
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  client.Send("P\t0\ttest\tt\t\tv\n0\t=\t1\t3\n");
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  EXPECT_TRUE(net::NothingToRead(client.fd()));
  held.LetGo();
  for (const char* reply :
       {"0\t1\t1", "0\t2\t2\t21", "2\t1\tcmd", "0\t2\t3\t30", "0\t1", "0\t1", "0\t1\t30"}) {
    EXPECT_EQ(reply, client.ReadLine());
  }
}

// A client that reads and writes in turn: its finds go into a batch at first, because it wrote
// last.
TEST_F(WorkerBatchTest, ReadsAndWritesMayAlternate) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  for (unsigned i = 0; i < 50; ++i) {
    EXPECT_EQ("0\t1\t1", client.Ask(Add(2)));
    EXPECT_EQ("0\t2\t2\t" + std::to_string(21 + i), client.Ask("0\t=\t1\t2\n"));
    EXPECT_EQ("2\t1\tcmd", client.Ask("?\n"));
    client.Send(kFind1 + Add(3) + kFind1);
    EXPECT_EQ("0\t2\t1\t10", client.ReadLine());
    EXPECT_EQ("0\t1\t1", client.ReadLine());
    EXPECT_EQ("0\t2\t1\t10", client.ReadLine());
  }
  EXPECT_EQ(100u, server_.Stat(Stat::kBatches));
}

TEST_F(WorkerBatchTest, ClientsMayVanishOrHalfCloseWhileTheirBatchIsCommitted) {
  server_.Start();
  LineClient reader = server_.ConnectAndOpen();
  LineClient vanishes = server_.ConnectAndOpen();
  LineClient ends = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  vanishes.Send(Add(3));
  ASSERT_TRUE(held.AwaitCommit());
  ends.Send(Insert(5) + Insert(6));
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  ends.HalfClose();
  vanishes.Reset();
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  held.LetGo();
  EXPECT_EQ("0\t1", ends.ReadLine());
  EXPECT_EQ("0\t1", ends.ReadLine());
  EXPECT_EQ("(end)", ends.ReadLine());
  EXPECT_TRUE(Eventually([this] { return server_.Stat(Stat::kConnections) == 1; }));
  EXPECT_EQ("1,10;2,20;3,31;5,x;6,x;", server_.store.Dump(kServedTable));
}

TEST_F(WorkerBatchTest, WritersWaitForRoomWhenABatchIsFull) {
  server_.Start();
  LineClient first = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  std::vector<LineClient> writers;
  constexpr unsigned kEach = 2 * model::kTurnRequestsPerConnectionMax;
  constexpr unsigned kWriters = 2 * model::kTurnRequestsMax / kEach + 5;
  for (unsigned i = 0; i < kWriters; ++i) writers.push_back(server_.ConnectAndOpen());
  HeldCommits held(server_.store);
  first.Send(Add(1));
  ASSERT_TRUE(held.AwaitCommit());
  std::string pipeline;
  for (unsigned i = 0; i < kEach; ++i) pipeline += Add(2);
  for (LineClient& writer : writers) writer.Send(pipeline);
  for (int i = 0; i < 3; ++i) EXPECT_EQ("0\t2\t3\t30", reader.Ask("0\t=\t1\t3\n"));
  held.LetGo();
  for (LineClient& writer : writers) {
    for (unsigned i = 0; i < kEach; ++i) ASSERT_EQ("0\t1\t1", writer.ReadLine());
  }
  EXPECT_EQ("0\t2\t2\t" + std::to_string(20 + kWriters * kEach), reader.Ask("0\t=\t1\t2\n"));
}

TEST_F(WorkerBatchTest, WriterIsServedWhenAnothersFindsHaveFilledTheBatch) {
  server_.Start();
  LineClient finds = server_.ConnectAndOpen();
  LineClient writes = server_.ConnectAndOpen();
  LineClient stops = server_.ConnectAndOpen();
  EXPECT_EQ("0\t1\t1", finds.Ask(Add(1)));
  EXPECT_EQ("0\t1\t1", writes.Ask(Add(1)));
  // Finds that take much memory each, and a write, which come in one round of the worker.
  auto delay = server_.store.DelayRow(kServedTable, {"3"});
  stops.Send("0\t=\t1\t3\n");
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  constexpr unsigned kFinds = 120;
  std::string lines;
  for (unsigned i = 0; i < kFinds; ++i) lines += "0\t=\t1\t1\t1\t0\t@\t5\t10000\n";
  finds.Send(lines);
  writes.Send(Add(1));
  delay.reset();
  EXPECT_EQ("0\t2\t3\t30", stops.ReadLine());
  for (unsigned i = 0; i < kFinds; ++i) ASSERT_EQ("2\t1\tkpnum", finds.ReadLine());
  EXPECT_EQ("0\t1\t1", writes.ReadLine());
}

class WorkerBatchOrderTest : public WorkerBatchTest,
                             public ::testing::WithParamInterface<int64_t> {};

// The operand of a request tells whose request it is.
TEST_P(WorkerBatchOrderTest, EachClientIsServedBeforeAnyIsServedAgainAndAgain) {
  server_.settings.turn_ms_max = GetParam();
  server_.Start();
  // A batch is full without some of the clients, which wait for the next one.
  const bool lacks_time = GetParam() < 0;
  const unsigned writers_count = lacks_time ? 40 : 120;
  const unsigned each = model::kTurnRequestsPerConnectionMax * (lacks_time ? 1 : 4);
  // How many requests a client has had executed when it was served four times.
  const unsigned four_shares = lacks_time ? 4 * model::kItemsPerLook : each;
  LineClient first = server_.ConnectAndOpen();
  std::vector<LineClient> writers;
  for (unsigned i = 0; i < writers_count; ++i) writers.push_back(server_.ConnectAndOpen());
  const auto served = std::make_shared<std::map<std::string, unsigned, std::less<>>>();
  const auto starved = std::make_shared<size_t>(0);
  const auto arrived = std::make_shared<Notification>();
  const auto released = std::make_shared<Notification>();
  server_.store.SetHook([=](const Call& call) {  // Called on the executor's thread only.
    if (call.kind == Call::Kind::kExecute && call.request->is_write()) {
      const std::string_view whose = call.request->find.modifications[1].text();
      if (whose == "0") {
        arrived->Notify();
        released->Wait();
      } else if (++(*served)[std::string(whose)] == four_shares) {
        *starved = std::max(*starved, writers_count - served->size());
      }
    }
    return Outcome();
  });
  const auto take = [](unsigned whose) {
    return "0\t=\t1\t2\t1\t0\t+\t0\t" + std::to_string(whose) + "\n";
  };
  first.Send(take(0));
  ASSERT_TRUE(arrived->Wait());
  for (unsigned i = 0; i < writers_count; ++i) {
    std::string pipeline;
    for (unsigned count = 0; count < each; ++count) pipeline += take(i + 1);
    writers[i].Send(pipeline);
  }
  released->Notify();
  EXPECT_EQ("0\t1\t1", first.ReadLine());
  for (LineClient& writer : writers) {
    for (unsigned i = 0; i < each; ++i) ASSERT_EQ("0\t1\t1", writer.ReadLine());
  }
  server_.Stop();
  EXPECT_EQ(writers_count, served->size());
  EXPECT_EQ(0u, *starved);
}

// Batches that have room for a quarter of the clients; and batches that run out of time, which is
// checked after each kItemsPerLook requests.
INSTANTIATE_TEST_SUITE_P(Time, WorkerBatchOrderTest, ::testing::Values(INT64_MAX, -1));

// The connection gets as many requests into the batch as all others together, and not the 128 that
// fit.
TEST_F(WorkerBatchTest, DeepPipelineGetsNoMoreOfABatchThanTheOthersTogether) {
  server_.Start();
  constexpr unsigned kOthers = 40;
  LineClient deep = server_.ConnectAndOpen();
  std::vector<LineClient> others;
  for (unsigned i = 0; i < kOthers; ++i) others.push_back(server_.ConnectAndOpen());
  struct Batch {
    unsigned deep = 0, others = 0;
  };
  const auto batches = std::make_shared<std::vector<Batch>>(1);  // Filled by the executor's thread.
  server_.store.SetHook([batches](const Call& call) {
    if (call.kind == Call::Kind::kExecute && call.request->is_write()) {
      const bool is_deep = engine::fake::FirstValue(*call.request) == "2";
      ++(is_deep ? batches->back().deep : batches->back().others);
    } else if (call.kind == Call::Kind::kCommit && batches->back().deep + batches->back().others) {
      batches->emplace_back();
    }
    return Outcome();
  });
  constexpr unsigned kDeep = 20'000;
  std::thread pipeline([&deep] {
    std::string lines;
    for (unsigned i = 0; i < kDeep; ++i) lines += Add(2);
    deep.Send(lines);
  });
  std::atomic<bool> answered = false;
  std::thread replies([&deep, &answered] {
    for (unsigned i = 0; i < kDeep; ++i) EXPECT_EQ("0\t1\t1", deep.ReadLine());
    answered = true;
  });
  while (!answered) {
    for (LineClient& other : others) other.Send(Add(1));
    for (LineClient& other : others) EXPECT_EQ("0\t1\t1", other.ReadLine());
  }
  pipeline.join();
  replies.join();
  server_.Stop();
  unsigned together = 0;
  for (size_t i = 2; i < batches->size(); ++i) {
    if ((*batches)[i - 1].others == 0 || (*batches)[i - 2].others == 0) continue;
    ++together;
    EXPECT_LE((*batches)[i].deep, kOthers);
  }
  EXPECT_GE(together, 1u);
}

TEST_F(WorkerBatchTest, RowThatIsHeldElsewhereStopsItsConnectionOnly) {
  server_.Start();
  LineClient blocked = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  auto held = server_.store.LockRow(kServedTable, {"2"});
  blocked.Send(Add(1) + Add(2) + Add(3));
  EXPECT_EQ("0\t1\t1", blocked.ReadLine());
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  EXPECT_EQ("0\t1\t1", other.Ask(Add(1)));
  EXPECT_TRUE(net::NothingToRead(blocked.fd()));
  held.reset();
  EXPECT_EQ("0\t1\t1", blocked.ReadLine());
  EXPECT_EQ("0\t1\t1", blocked.ReadLine());
  EXPECT_EQ("1,12;2,21;3,31;", server_.store.Dump(kServedTable));
}

TEST_F(WorkerBatchTest, LoneConnectionIsServedOnItsWorkersThread) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  std::set<std::thread::id> threads;
  std::mutex mutex;
  server_.store.SetHook([&](const Call& call) {
    const std::lock_guard lock(mutex);
    if (call.kind == Call::Kind::kExecute) threads.insert(std::this_thread::get_id());
    return Outcome();
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ("0\t1\t1", client.Ask(Add(1)));
    EXPECT_EQ("0\t2\t3\t30", client.Ask("0\t=\t1\t3\n"));
  }
  server_.Stop();
  EXPECT_EQ(1u, threads.size());
}

/// Notes which threads find and write. Commits last long enough that two changes of threads are not
/// the larger part.
class WatchedThreads {
 public:
  explicit WatchedThreads(engine::fake::Store& store) : store_(store) {
    store_.SetHook([this](const Call& call) { return OnCall(call); });
  }
  ~WatchedThreads() { store_.SetHook({}); }

  /// Another node of the cluster takes the next commit back.
  void LoseCommit() { loses_ = true; }
  bool are_one() const { return found_on_.load() == wrote_on_.load(); }

 private:
  Outcome OnCall(const Call& call) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (call.kind == Call::Kind::kCommit && std::chrono::steady_clock::now() < until) continue;
    if (call.kind == Call::Kind::kCommit && loses_.exchange(false)) {
      return Outcome::Make(Outcome::Result::kConflict, {model::ErrorCode::kDeadlock});
    }
    if (call.kind != Call::Kind::kExecute) return {};
    (call.request->is_write() ? wrote_on_ : found_on_) = std::this_thread::get_id();
    return {};
  }

  engine::fake::Store& store_;
  std::atomic<std::thread::id> found_on_, wrote_on_;
  std::atomic<bool> loses_{false};
};

// Two changes of threads, and a second thread that competes with the clients for the processor, are
// worth their cost only if a find would wait for the commit.
TEST_F(WorkerBatchTest, WorkerExecutesItsBatchesWhereNoClientReads) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  const WatchedThreads threads(server_.store);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ("0\t2\t3\t30", reader.Ask("0\t=\t1\t3\n"));
    EXPECT_EQ("0\t1\t1", writer.Ask(Add(1)));
    EXPECT_FALSE(threads.are_one());
    EXPECT_TRUE(Eventually([&] {
      EXPECT_EQ("0\t1\t1", writer.Ask(Add(1)));
      return threads.are_one();
    }));
  }
  server_.Stop();  // The hook uses local variables.
}

// A batch that lost to another node sleeps before it runs again, and its finds with it.
TEST_F(WorkerBatchTest, ConflictWithAnotherNodeBringsTheExecutorBack) {
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  WatchedThreads threads(server_.store);
  EXPECT_EQ("0\t2\t3\t30", reader.Ask("0\t=\t1\t3\n"));
  ASSERT_TRUE(Eventually([&] {
    EXPECT_EQ("0\t1\t1", writer.Ask(Add(1)));
    return threads.are_one();
  }));
  threads.LoseCommit();
  EXPECT_EQ("0\t1\t1", writer.Ask(Add(1)));
  EXPECT_EQ(1u, server_.Stat(Stat::kConflicts));
  EXPECT_EQ("0\t1\t1", writer.Ask(Add(1)));
  EXPECT_FALSE(threads.are_one());
  server_.Stop();  // The hook uses local variables.
}

TEST_F(WorkerBatchTest, WorkersOwnBatchTakesClientsThatSendWhileItIsPutTogether) {
  std::atomic<const LineClient*> late{nullptr};
  // The worker knows by then which clients are ready, and has received nothing from them.
  server_.settings.prepare = [&](engine::Session&, bool) {
    if (const LineClient* client = late.exchange(nullptr)) {
      net::WriteAll(client->fd(), Add(2));
    }
  };
  server_.Start();
  LineClient writer = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  const WatchedThreads threads(server_.store);
  EXPECT_EQ("0\t2\t3\t30", other.Ask("0\t=\t1\t3\n"));
  for (const unsigned depth : {1u, 3u}) {
    std::string requests;
    for (unsigned i = 0; i < depth; ++i) requests += Add(1);
    EXPECT_TRUE(Eventually([&] {
      const uint64_t batches = server_.Stat(Stat::kBatches);
      late = &other;
      net::WriteAll(writer.fd(), requests);
      for (unsigned i = 0; i < depth; ++i) EXPECT_EQ("0\t1\t1", writer.ReadLine());
      EXPECT_EQ("0\t1\t1", other.ReadLine());
      return threads.are_one() && server_.Stat(Stat::kBatches) == batches + 1;
    })) << depth;
  }
  server_.Stop();  // `prepare` uses local variables.
}

TEST_F(WorkerBatchTest, IdleExecutorGivesItsTablesBack) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  EXPECT_EQ("0\t1\t1", client.Ask(Add(1)));
  EXPECT_TRUE(Eventually([this] { return server_.store.sessions_with_tables() == 0; }));
}

// The next batch may have begun as well; if not, it is dropped, and no client is told that it was
// done.
TEST_F(WorkerBatchTest, StopAnswersTheBatchUnderWay) {
  server_.Start();
  LineClient first = server_.ConnectAndOpen();
  LineClient second = server_.ConnectAndOpen();
  LineClient reader = server_.ConnectAndOpen();
  HeldCommits held(server_.store);
  first.Send(Add(3));
  ASSERT_TRUE(held.AwaitCommit());
  second.Send(Insert(5));
  EXPECT_EQ("0\t2\t1\t10", reader.Ask(kFind1));
  server_.port->AskToStop();
  held.LetGo();
  EXPECT_EQ("0\t1\t1", first.ReadLine());
  EXPECT_EQ("(end)", first.ReadLine());
  const bool is_done = second.ReadLine() == "0\t1";
  server_.Stop();
  EXPECT_EQ(is_done ? "1,10;2,20;3,31;5,x;" : "1,10;2,20;3,31;", server_.store.Dump(kServedTable));
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(WorkerBatchTest, StopInterruptsABatchThatTakesLong) {
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  LineClient other = server_.ConnectAndOpen();
  const auto delay = server_.store.DelayRow(kServedTable, {"1"});
  client.Send(Add(1));
  ASSERT_TRUE(server_.store.AwaitWaiting(1));
  server_.Stop();
  EXPECT_EQ(0u, server_.store.sessions());
}

TEST_F(WorkerBatchTest, PortThatOnlyReadsHasNoExecutor) {
  server_.frontend.writable = server_.settings.writes = false;
  server_.Start();
  LineClient client = server_.ConnectAndOpen();
  EXPECT_EQ("2\t1\treadonly", client.Ask(Add(1)));
  EXPECT_EQ(1u, server_.store.sessions());
}

}  // namespace
}  // namespace rowsocket::exec
