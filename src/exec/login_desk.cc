#include "exec/login_desk.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/thread.h"

namespace rowsocket::exec {

namespace {

/// How long a thread sleeps when there is nothing to do.
constexpr std::chrono::hours kAsleepMax{1};
/// How long a thread sleeps if there is no memory to begin a check.
constexpr std::chrono::milliseconds kMemoryPause{100};

}  // namespace

bool LoginDesk::Start() {
  return std::all_of(threads_.begin(), threads_.end(), [this](std::thread& thread) {
    return base::StartThread(&thread, [this] { Main(); });
  });
}

bool LoginDesk::Submit(std::unique_ptr<LoginJob> job) {
  RefusedLogins place;
  place.emplace();
  job->place_if_refused = place.extract(place.begin());
  const base::MutexLock lock(mutex_);
  if (is_closed_) return true;
  const LoginSource source = job->source;
  if (!sources_.Queue(source)) return false;
  try {
    queue_.push_back(std::move(job));
  } catch (const std::bad_alloc&) {
    sources_.Unqueue(source);
    throw;
  }
  work_.NotifyOne();
  return true;
}

bool LoginDesk::Cancel(const Client* client) {
  const base::MutexLock lock(mutex_);
  const auto waiting = std::find_if(queue_.begin(), queue_.end(),
                                    [client](const auto& job) { return job->client == client; });
  if (waiting != queue_.end()) {
    if (waiting - queue_.begin() < static_cast<ptrdiff_t>(passed_over_)) --passed_over_;
    sources_.Unqueue((*waiting)->source);
    queue_.erase(waiting);
    return true;
  }
  // The source's delay goes on, so that guessing is as slow for clients that do not wait for the
  // answer.
  for (auto& [until, job] : refused_) {
    if (job->owner == nullptr || job->client != client) continue;
    job->owner = nullptr;
    return true;
  }
  return false;
}

void LoginDesk::End(std::unique_ptr<engine::LoginTicket> ticket) {
  const base::MutexLock lock(mutex_);
  ticket->next = std::move(ended_);
  ended_ = std::move(ticket);
  work_.NotifyOne();
}

void LoginDesk::CloseLogins() {
  base::MutexLock lock(mutex_);
  is_closed_ = true;
  queue_.clear();
  passed_over_ = 0;
  refused_.clear();
  while (!idle_.WaitFor(lock, kAsleepMax, [this]() REQUIRES(mutex_) { return under_way_ == 0; })) {
  }
}

void LoginDesk::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyAll();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void LoginDesk::Main() {
  checker_.Enter();
  {
    base::MutexLock lock(mutex_);
    while (Next(lock)) {
    }
  }
  checker_.Leave();
}

// Connections that have ended come first: their account may then have room for another connection.
bool LoginDesk::Next(base::Condition::Lock& lock) {
  try {
    if (EndOne() || AnswerRefused() || CheckOne()) return true;
  } catch (const std::bad_alloc&) {  // CheckOne has not begun.
    work_.WaitUntil(lock, Clock::now() + kMemoryPause,
                    [this]() REQUIRES(mutex_) { return stopping_; });
  }
  if (stopping_) return false;
  const Clock::time_point until =
      refused_.empty() ? Clock::now() + kAsleepMax : refused_.begin()->first;
  // A login that is refused meanwhile may be due sooner than all earlier ones.
  work_.WaitUntil(lock, until, [this, until]() REQUIRES(mutex_) {
    return stopping_ || ended_ != nullptr || queue_.size() > passed_over_ ||
           (!refused_.empty() && refused_.begin()->first < until);
  });
  return true;
}

bool LoginDesk::EndOne() {
  if (ended_ == nullptr) return false;
  std::unique_ptr<engine::LoginTicket> ticket = std::move(ended_);
  ended_ = std::move(ticket->next);
  mutex_.Unlock();
  try {
    checker_.End(std::move(ticket));
  } catch (const std::bad_alloc&) {  // The ticket is ended all the same.
  }
  mutex_.Lock();
  return true;
}

bool LoginDesk::AnswerRefused() {
  if (refused_.empty() || refused_.begin()->first > Clock::now()) return false;
  std::unique_ptr<LoginJob> job = std::move(refused_.begin()->second);
  refused_.erase(refused_.begin());
  Leave(job->source);
  if (job->owner == nullptr) return true;
  ++under_way_;
  mutex_.Unlock();
  LoginOwner& owner = *job->owner;
  owner.Done(std::move(job));
  mutex_.Lock();
  if (--under_way_ == 0) idle_.NotifyAll();
  return true;
}

void LoginDesk::Leave(const LoginSource& source) {
  sources_.End(source, base::CoarseNowMs());
  LookAgain();
}

// Looks at all queued logins again: logins that were passed over may no longer have to wait.
void LoginDesk::LookAgain() {
  if (passed_over_ == 0) return;
  passed_over_ = 0;
  work_.NotifyOne();
}

void LoginDesk::Check(LoginJob& job) {
  try {
    job.login = checker_.Check(job.attempt);
  } catch (const std::bad_alloc&) {
    job.login = {};  // Nobody gets in because memory runs out.
  }
}

// A client that guesses passwords has to wait for each answer.
void LoginDesk::Delay(std::unique_ptr<LoginJob> job, Clock::time_point began) {
  const int64_t delay_ms = sources_.Fail(job->source, base::CoarseNowMs());
  if (is_closed_) return sources_.End(job->source, base::CoarseNowMs());
  RefusedLogins::node_type place = std::move(job->place_if_refused);
  place.key() = began + std::chrono::milliseconds(delay_ms);
  place.mapped() = std::move(job);
  refused_.insert(std::move(place));
  work_.NotifyOne();
}

bool LoginDesk::CheckOne() {
  const auto found = std::find_if(
      queue_.begin() + static_cast<ptrdiff_t>(passed_over_), queue_.end(),
      [this](const std::unique_ptr<LoginJob>& job)
          REQUIRES(mutex_) { return sources_.Begin(job->source, base::CoarseNowMs()); });
  passed_over_ = static_cast<size_t>(found - queue_.begin());
  if (found == queue_.end()) return false;
  std::unique_ptr<LoginJob> job = std::move(*found);
  queue_.erase(found);
  ++under_way_;
  mutex_.Unlock();
  const Clock::time_point began = Clock::now();
  if (!job->refuse_unchecked) Check(*job);
  const bool is_accepted = job->login.account != nullptr;
  LoginOwner& owner = *job->owner;
  const LoginSource source = job->source;
  if (is_accepted) {
    owner.Done(std::move(job));
    mutex_.Lock();
    if (sources_.EndCheck(source)) LookAgain();
    Leave(source);
  } else {
    mutex_.Lock();
    if (sources_.EndCheck(source)) LookAgain();
    Delay(std::move(job), began);
  }
  if (--under_way_ == 0) idle_.NotifyAll();
  return true;
}

}  // namespace rowsocket::exec
