#include "engine/server/account_watch.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "api.h"
#include "base/thread.h"
#include "model/limits.h"

namespace rowsocket::engine::server {

namespace {

/// How long the thread sleeps if no account is in use.
constexpr std::chrono::hours kAsleepMax{1};

bool IsSame(const LoginIdentity& left, const LoginIdentity& right) {
  return left.user == right.user && left.host == right.host && left.role == right.role &&
         left.login_user == right.login_user && left.login_host == right.login_host;
}

template <typename Step>
void AsFarAsMemoryGoes(const Step& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    // Memory ran out: the next round does the rest.
  }
}

}  // namespace

bool AccountWatch::Start(std::function<void()> on_ended) {
  on_ended_ = std::move(on_ended);
  return base::StartThread(&thread_, [this] { Main(); });
}

void AccountWatch::Stop() {
  if (!thread_.joinable()) return;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.NotifyAll();
  }
  thread_.join();
}

std::optional<std::string> AccountWatch::FingerprintOf(const LoginIdentity& identity) {
  std::optional<std::string> own = text_.Of(identity.user, identity.host);
  if (identity.login_user == identity.user && identity.login_host == identity.host) return own;
  const std::optional<std::string> of_login = text_.Of(identity.login_user, identity.login_host);
  if (!own || !of_login) return std::nullopt;
  return own->empty() || of_login->empty() ? "" : *own + "\n" + *of_login;
}

std::shared_ptr<const model::Account> AccountWatch::Use(const LoginIdentity& identity,
                                                        const std::string& before) {
  if (before.empty() || Fingerprint(identity.login_user, identity.login_host) != before) return {};
  std::string fingerprint = FingerprintOf(identity).value_or("");
  if (fingerprint.empty()) return {};
  const base::MutexLock lock(mutex_);
  for (const Watched& each : watched_) {
    if (each.fingerprint != fingerprint || !IsSame(each.identity, identity)) continue;
    std::shared_ptr<const model::Account> account = each.account.lock();
    if (account != nullptr && !account->ended()) return account;
  }
  auto account =
      std::make_shared<const model::Account>(identity.user, identity.host, identity.role);
  watched_.push_back({identity, account, std::move(fingerprint)});
  wakes_.NotifyAll();
  return account;
}

void AccountWatch::Main() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kMin{model::kAccountsLookMsMin};
  constexpr std::chrono::milliseconds kMax{model::kAccountsLookMsMax};
  // The server has no memory for the thread. Without the thread nobody would be told of accounts
  // that end.
  while (my_thread_init()) {
    base::MutexLock lock(mutex_);
    if (wakes_.WaitFor(lock, kMin, [this]() REQUIRES(mutex_) { return stopping_; })) return;
  }
  Clock::duration pause = kMin;
  bool has_ended = false;  // Accounts whose users have not been told.
  for (;;) {
    {
      base::MutexLock lock(mutex_);
      const bool has_work = wakes_.WaitFor(lock, kAsleepMax, [&]() REQUIRES(mutex_) {
        return stopping_ || has_ended || !watched_.empty();
      });
      if (!has_work) continue;
      if (wakes_.WaitFor(lock, pause, [this]() REQUIRES(mutex_) { return stopping_; })) break;
    }
    const Clock::time_point began = Clock::now();
    AsFarAsMemoryGoes([&] { Look(&has_ended); });
    AsFarAsMemoryGoes([&] {
      if (has_ended) on_ended_();
      has_ended = false;
    });
    pause = std::clamp<Clock::duration>((Clock::now() - began) * model::kAccountsLookMultiple, kMin,
                                        kMax);
  }
  text_.Leave();
  my_thread_end();
}

// The statements of a round run without the mutex, so that no login waits for them. Each may wait
// for seconds; Stop waits only for those about one account.
void AccountWatch::Look(bool* has_ended) {
  std::vector<Watched> watched;
  {
    const base::MutexLock lock(mutex_);
    std::erase_if(watched_, [](const Watched& each) {
      const auto account = each.account.lock();
      return account == nullptr || account->ended();
    });
    watched = watched_;
  }
  for (const Watched& each : watched) {
    {
      const base::MutexLock lock(mutex_);
      if (stopping_) return;
    }
    const auto account = each.account.lock();
    if (account == nullptr) continue;
    const std::optional<std::string> fingerprint = FingerprintOf(each.identity);
    if (!fingerprint || *fingerprint == each.fingerprint) continue;
    account->End();
    *has_ended = true;
  }
}

}  // namespace rowsocket::engine::server
