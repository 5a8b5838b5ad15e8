#include "exec/worker.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "exec/worker_client.h"

namespace rowsocket::exec {

namespace {

constexpr size_t kEventsMax = 512;
/// With nothing to do for this long a worker gives its tables back, so that nobody waits for it.
constexpr int kReleaseTablesMs = 10;
/// How often an idle worker looks whether the server wants it to end.
constexpr int kTickMs = 200;
constexpr int64_t kDescribeMs = 500;
/// How long a turn under way may take when the worker is to stop, before it is interrupted.
constexpr std::chrono::milliseconds kStopPatience{500};

}  // namespace

Worker::Worker(const WorkerContext& context) : context_(context) {
  connection_context_.buffered_bytes_max = context_.limits.buffered_bytes_max;
  connection_context_.budget = context_.budget;
  idle_.SetTimeout(int64_t{context_.limits.idle_timeout_s} * 1000);
  unauthenticated_.SetTimeout(int64_t{context_.limits.auth_timeout_s} * 1000);
  events_.resize(kEventsMax);
}

Worker::~Worker() {
  Stop();
  for (Client* client : orphans_) delete client;
}

bool Worker::Start() {
  if (!loop_.Open()) return false;
  if (context_.writes) {
    MakeBatches();
    if (!executor_->Start()) return false;
  }
  return thread_.Start(*context_.sessions, engine::LockWait::kNever,
                       [this](engine::Session* session) { Main(session); });
}

void Worker::AskToStop() {
  if (!stopping_.exchange(true)) interrupt_from_ = SessionThread::Clock::now() + kStopPatience;
  loop_.Wake();
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  AskToStop();
  std::vector<SessionThread*> threads{&thread_};
  if (executor_ != nullptr) threads.push_back(&executor_->thread());
  SessionThread::AwaitEnd(threads, interrupt_from_);
  thread_.Join();
}

void Worker::Adopt(net::UniqueFd fd) {
  connections_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(inbox_mutex_);
    inbox_connections_.push_back(std::move(fd));
  }
  loop_.Wake();
}

void Worker::Done(WaitJobs jobs) {
  {
    std::lock_guard lock(inbox_mutex_);
    std::move(jobs.begin(), jobs.end(), std::back_inserter(inbox_jobs_));
  }
  loop_.Wake();
}

void Worker::Main(engine::Session* session) {
  stats_ = std::make_unique<StatBlock>(*context_.stats);
  turn_ = std::make_unique<Turn>(*stats_, *context_.commits);
  session_ = session;
  load_.run_time.Open();
  if (session != nullptr) {
    Listen();
    Loop(*session);
    for (net::Listener& listener : *context_.listeners) loop_.Remove(listener.fd());
  }
  if (executor_ != nullptr) executor_->Stop();
  TakeDoneBatches();
  TakeHeld();
  CloseAll();
  context_.commits->Forget(*this);
  session_ = nullptr;
  turn_.reset();
  stats_.reset();
}

void Worker::Loop(engine::Session& session) {
  DescribeTo(session);
  while (!stopping_.load(std::memory_order_relaxed) && !session.ShouldStop()) {
    const int timeout_ms = !ready_.empty() || gathers_ ? 0
                           : session.HoldsTables()     ? kReleaseTablesMs
                                                       : kTickMs;
    HandleEvents(timeout_ms);
    const int64_t polled_ms = now_ms_;
    TakeInbox();
    TakeDoneBatches();
    TakeHeld();
    if (!ready_.empty())
      RunTurn(session);
    else if (gathers_)
      EndGather(session);
    ReleaseIdleTables(session);
    CloseExpired(polled_ms);
    FreeRetired();
    DescribeTo(session);
    context_.crew->Look(now_ms_);
  }
}

// By the time since a request was executed, whatever else keeps the loop awake.
void Worker::ReleaseIdleTables(engine::Session& session) {
  const bool is_idle = base::CoarseNowMs() - worked_ms_ >= kReleaseTablesMs;
  if (is_idle && session.HoldsTables()) session.ReleaseTables();
}

std::span<const net::Event> Worker::WaitForEvents(int timeout_ms) {
  if (!context_.crew->is_elastic() || timeout_ms == 0) return loop_.Wait(events_, timeout_ms);
  load_.asleep_from_us.store(base::NowUs(), std::memory_order_relaxed);
  const std::span<const net::Event> events = loop_.Wait(events_, timeout_ms);
  const int64_t slept_us = load_.SleptUs(base::NowUs());
  load_.asleep_from_us.store(0, std::memory_order_relaxed);
  load_.slept_us.store(slept_us, std::memory_order_relaxed);
  return events;
}

void Worker::HandleEvents(int timeout_ms) {
  const std::span<const net::Event> events = WaitForEvents(timeout_ms);
  now_ms_ = base::CoarseNowMs();
  for (const net::Event& event : events) {
    auto* listener = static_cast<net::Listener*>(event.tag());
    const net::Listener* first = context_.listeners->data();
    if (listener >= first && listener < first + context_.listeners->size()) {
      Accept(*listener);
      continue;
    }
    Client& client = *static_cast<Client*>(event.tag());
    if (client.retired) continue;
    if (client.in_batch) {
      // Told of once: also what is not wanted at the moment, because the lane has a request.
      constexpr uint32_t kReceive = uint32_t{EPOLLIN} | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
      client.can_receive = client.can_receive || (event.ready() & kReceive) != 0;
      client.connection.OnEvents(event.ready());
      client.connection.Quieten(loop_);
      continue;
    }
    const net::Connection::Ready ready = client.connection.OnEvents(event.ready());
    if (ready.send) SendTo(client);
    if (client.connection.state() == net::Connection::State::kBroken) {
      Retire(client);
    } else if (ready.receive && !GiveIfAsked(client)) {
      client.can_receive = true;
      MarkReady(client);
    }
  }
}

void Worker::TakeInbox() {
  std::vector<net::UniqueFd> connections;
  std::vector<std::unique_ptr<Client>> clients;
  WaitJobs jobs;
  {
    std::lock_guard lock(inbox_mutex_);
    connections.swap(inbox_connections_);
    clients.swap(inbox_clients_);
    jobs.swap(inbox_jobs_);
  }
  for (net::UniqueFd& fd : connections) AddClient(std::move(fd));
  for (auto& client : clients) AddMoved(std::move(client));
  for (auto& job : jobs) FinishWait(*job);
  if (!accepts_ && base::CoarseNowMs() >= accept_again_ms_) {
    accepts_ = true;
    Listen();
  }
}

void Worker::DescribeTo(engine::Session& session) {
  const int64_t now_ms = base::CoarseNowMs();
  if (described_ms_ != 0 && now_ms - described_ms_ < kDescribeMs) return;
  described_ms_ = now_ms;
  connection_context_.buffers.Trim();
  session.Describe(context_.name + ", " + std::to_string(clients_.size()) + " conns, " +
                   std::to_string(in_turn_.size()) + " active");
  in_turn_.clear();
}

}  // namespace rowsocket::exec
