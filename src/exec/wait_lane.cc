#include "exec/wait_lane.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <optional>

#include "exec/describe.h"
#include "exec/thread_share.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

constexpr std::chrono::seconds kIdleThreadLife{1};

}  // namespace

// The name of a waiting group: the index and the text of the key. A composite item may also wait
// for the row of its token, which other items must not wait for, so that composite items have
// groups of their own.
std::string WaitLane::WaitGroupNameOf(const Item& item, bool waits_elsewhere) {
  std::string name;
  const bool is_row =
      item.kind == Item::Kind::kRequest && item.request.is_write() && item.row_name().is_row();
  // A unit that waits for another row than the one it is known by keeps nobody else from that row.
  if (!is_row || (item.unit != nullptr && waits_elsewhere)) return name;
  name.append(1, item.unit != nullptr ? 'u' : item.is_composite ? 'c' : ' ');
  if (waits_elsewhere && item.request.account != nullptr) {
    name.append(std::to_string(item.request.account->id())).append(1, ' ');
  }
  item.row_name().AppendTo(&name);
  return name;
}

void WaitLane::Submit(std::unique_ptr<WaitJob> job) {
  {
    const base::MutexLock lock(mutex_);
    if (stopping_) return;
    Reap();
    if (Join(job)) return;
  }
  Fail(*job, {model::ErrorCode::kLockWait});
  WaitJobs failed;
  failed.push_back(std::move(job));
  GiveBack(failed);
}

// All allocations come before anything that the lane's threads see, so that nothing has to be taken
// back if memory runs out.
bool WaitLane::Join(std::unique_ptr<WaitJob>& job) {
  WaitJobs added(1);
  const auto known =
      job->wait_group_name.empty() ? by_name_.end() : by_name_.find(job->wait_group_name);
  WaitGroup* group;
  if (known != by_name_.end()) {
    group = known->second;
  } else {
    if (idle_ <= queued_.size() && serving_ < threads_max_) AddThread();
    if (serving_ == 0) return false;
    WaitGroups made(1);
    group = &made.front();
    group->name = job->wait_group_name;
    const model::Account* const account = job->item.request.account;
    group->account = account == nullptr ? 0 : account->id();
    if (!group->name.empty()) by_name_.emplace(group->name, group);
    queued_.splice(queued_.end(), made);
    group->place = std::prev(queued_.end());
    work_.NotifyOne();
  }
  WaitJob& queued = *job;
  queued.group = group;
  queued.place = added.begin();
  added.front() = std::move(job);
  group->jobs.splice(group->jobs.end(), added);
  return true;
}

// When the lane stops, the job may be gone already.
bool WaitLane::Cancel(WaitJob& job) {
  const base::MutexLock lock(mutex_);
  if (stopping_ || job.group == nullptr) return false;
  WaitGroup& group = *job.group;
  group.jobs.erase(job.place);
  if (!group.jobs.empty() || group.is_under_way) return true;
  Forget(group);
  queued_.erase(group.place);
  return true;
}

void WaitLane::Forget(WaitGroup& group) {
  if (!group.name.empty()) by_name_.erase(group.name);
}

// The process may not be allowed any more threads, or have no memory for one; then no thread is
// added.
void WaitLane::AddThread() {
  std::list<SessionThread> added;
  try {
    const auto main = [this](engine::Session* session) { Main(session); };
    if (!added.emplace_back().Start(sessions_, engine::LockWait::kServer, main)) return;
  } catch (const std::bad_alloc&) {
    return;
  }
  threads_.splice(threads_.end(), added);
  ++serving_;
}

void WaitLane::Reap() {
  threads_.remove_if([](const SessionThread& thread) { return thread.HasEnded(); });
}

void WaitLane::Stop() {
  std::vector<SessionThread*> threads;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    for (auto& [name, group] : by_name_) group->jobs.clear();
    by_name_.clear();
    queued_.clear();
    work_.NotifyAll();
    stops_.NotifyAll();
    for (SessionThread& thread : threads_) threads.push_back(&thread);
  }
  SessionThread::AwaitEnd(threads, SessionThread::Clock::now());
  const base::MutexLock lock(mutex_);
  threads_.clear();
}

// The first group whose account leaves threads to others (ThreadShare): an account that waits for
// many rows, which one of its own sessions may have locked, must not have all threads.
WaitLane::WaitGroups::iterator WaitLane::Next() {
  const unsigned share = ThreadShare(threads_max_);
  // The thread that looks for a group is not at work. A full share is more than half of the other
  // threads, so that at most one account has it.
  const auto full =
      std::find_if(threads_of_.begin(), threads_of_.end(),
                   [share](const AccountThreads& each) { return each.threads >= share; });
  if (full == threads_of_.end()) return queued_.begin();
  return std::find_if(
      queued_.begin(), queued_.end(),
      [account = full->account](const WaitGroup& group) { return group.account != account; });
}

void WaitLane::CountThread(const WaitGroup& group, int change) {
  if (group.account == 0) return;
  const auto known =
      std::find_if(threads_of_.begin(), threads_of_.end(),
                   [&group](const AccountThreads& each) { return each.account == group.account; });
  if (known == threads_of_.end()) return threads_of_.push_back({group.account, 1});
  known->threads = static_cast<unsigned>(static_cast<int>(known->threads) + change);
  if (known->threads == 0) threads_of_.erase(known);
}

// A thread without work keeps its session for a second: waits tend to come together.
bool WaitLane::NextWaitGroup(engine::Session* session, WaitGroups& taken, WaitJobs& jobs) {
  base::MutexLock lock(mutex_);
  if (Next() == queued_.end() && session != nullptr && !stopping_) {
    // Idle sessions hold no table, because DDL would wait for them.
    lock.Unlock();
    session->ReleaseTables();
    DescribeSession(*session, [] { return "mode=lock wait, idle"; });
    lock.Lock();
  }
  const bool can_serve = session != nullptr && !session->ShouldStop();
  if (can_serve) {
    ++idle_;
    work_.WaitFor(lock, kIdleThreadLife,
                  [this]() REQUIRES(mutex_) { return stopping_ || Next() != queued_.end(); });
    --idle_;
  }
  const auto next = Next();
  if (!can_serve || stopping_ || next == queued_.end()) {
    --serving_;
    return false;
  }
  taken.splice(taken.end(), queued_, next);
  WaitGroup& group = taken.front();
  CountThread(group, 1);
  group.is_under_way = true;
  while (!group.jobs.empty() && jobs.size() < model::kTurnRequestsMax) {
    group.jobs.front()->group = nullptr;
    jobs.splice(jobs.end(), group.jobs, group.jobs.begin());
  }
  return true;
}

void WaitLane::EndWaitGroup(WaitGroups& taken, WaitJobs& jobs) {
  const base::MutexLock lock(mutex_);
  WaitGroup& group = taken.front();
  group.is_under_way = false;
  CountThread(group, -1);
  const bool must_run = std::any_of(group.jobs.begin(), group.jobs.end(),
                                    [](const auto& job) { return job->must_run; });
  if (must_run) {
    queued_.splice(queued_.end(), taken);
    work_.NotifyOne();
    return;
  }
  for (const std::unique_ptr<WaitJob>& job : group.jobs) {
    job->group = nullptr;
    job->is_handed_back = true;
  }
  jobs.splice(jobs.end(), group.jobs);
  if (!stopping_) Forget(group);
  taken.clear();
}

// An owner gets all its jobs of a group at once: if they came back one by one, the first would
// become a batch of its own, and would hold the row when the next ones come.
void WaitLane::GiveBack(WaitJobs& jobs) {
  while (!jobs.empty()) {
    WaitJobOwner* const owner = jobs.front()->owner;
    WaitJobs theirs;
    MoveJobs(jobs, theirs, [owner](const WaitJob& job) { return job.owner == owner; });
    owner->Done(std::move(theirs));
  }
}

// Fails the groups for which no thread is left: the last one got no session, or its session was
// killed. The clients of these groups would wait until somebody else's request starts another
// thread.
void WaitLane::FailUnserved() {
  WaitJobs jobs;
  {
    const base::MutexLock lock(mutex_);
    if (serving_ != 0 || stopping_) return;
    for (WaitGroup& group : queued_) {
      for (const std::unique_ptr<WaitJob>& job : group.jobs) job->group = nullptr;
      jobs.splice(jobs.end(), group.jobs);
      Forget(group);
    }
    queued_.clear();
  }
  for (const std::unique_ptr<WaitJob>& job : jobs) Fail(*job, {model::ErrorCode::kLockWait});
  GiveBack(jobs);
}

void WaitLane::Main(engine::Session* session) {
  std::optional<StatBlock> stats;
  std::optional<Turn> turn;
  try {
    stats.emplace(stats_);
    turn.emplace(*stats, commits_, Turn::WaitPolicy::kAllForOneLock);
  } catch (const std::bad_alloc&) {
    session = nullptr;  // The thread can no more serve than one that got no session.
  }
  WaitGroups taken;
  for (WaitJobs jobs; NextWaitGroup(session, taken, jobs); jobs.clear()) {
    DescribeSession(*session, [&jobs] {
      return "mode=lock wait, " + std::to_string(jobs.size()) +
             (jobs.size() == 1 ? " request" : " requests");
    });
    // A thread that waits for this group must not hold the tables of the group before: DDL may wait
    // for these tables, and this group may wait for a lock that the DDL holds, or a session that
    // waits for the DDL.
    if (session->HasToRelease()) session->ReleaseTables();
    Run(*session, *turn, jobs);
    EndWaitGroup(taken, jobs);
    GiveBack(jobs);
  }
  FailUnserved();
}

}  // namespace rowsocket::exec
