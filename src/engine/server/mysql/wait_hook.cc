#include "wait_hook.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "engine/server/server_log.h"

namespace rowsocket::engine::server {

namespace {

/// The THD of this thread whose waits are canceled; null: no waits are.
thread_local THD* refusing = nullptr;
thread_local bool met_lock = false;

/// What the server calls in the place of `previous`. Another library that has put itself before a
/// link may go on calling the link as long as the server runs, so that the link must stay as it is.
struct Link {
  THD_event_functions functions;
  /// Also read by the server's threads: one of them may still be in BeginWait, or on its way there,
  /// since before Remove, while the link is put before another library.
  std::atomic<THD_event_functions*> previous;
  bool is_taken;
};

std::mutex install_mutex;
unsigned installed = 0;
bool has_warned = false;
/// The second link is for the place before a library that was loaded after this one.
Link links[2] = {};

/// Called by the server's threads, with none of InnoDB's latches held.
template <size_t at>
void BeginWait(THD* thd, int type) {
  const THD_event_functions* const previous = links[at].previous.load();
  if (previous != nullptr && previous->thd_wait_begin != nullptr) {
    previous->thd_wait_begin(thd, type);
  }
  if (thd == nullptr || thd != refusing) return;
  if (type != THD_WAIT_ROW_LOCK && type != THD_WAIT_TABLE_LOCK) return;
  // A THD that somebody has killed is not busy: the statement ends as killed.
  THD::killed_state expected = THD::NOT_KILLED;
  if (thd->killed.compare_exchange_strong(expected, THD::KILL_QUERY)) met_lock = true;
  innodb_hton->kill_connection(innodb_hton, thd);
}

constexpr void (*kBegins[])(THD*, int) = {BeginWait<0>, BeginWait<1>};

std::atomic_ref<THD_event_functions*> PlaceOfHook() {
  return std::atomic_ref(Connection_handler_manager::event_functions);
}

/// Puts a link before the functions that the server calls now. False: no link is left. A link can
/// be used again if these functions are its `previous`: they cannot be calling it, because they
/// would then call themselves.
bool TakePlace() {
  THD_event_functions* const now = PlaceOfHook().load();
  for (const Link& link : links) {
    if (now == &link.functions) return true;
  }
  Link* taken = std::find_if(std::begin(links), std::end(links), [now](const Link& link) {
    return link.is_taken && link.previous.load() == now;
  });
  if (taken == std::end(links)) {
    taken = std::find_if(std::begin(links), std::end(links),
                         [](const Link& link) { return !link.is_taken; });
    if (taken == std::end(links)) return false;
    taken->previous.store(now);
    taken->is_taken = true;
  }
  // Another library may be at the same address by now. A thread of the server that still looks at
  // the link finds the same thd_wait_begin before and after the change.
  THD_event_functions functions = now != nullptr ? *now : THD_event_functions{};
  functions.thd_wait_begin = kBegins[taken - links];
  taken->functions = functions;
  PlaceOfHook().store(&taken->functions);
  return true;
}

}  // namespace

void WaitHook::Install() {
  const std::lock_guard lock(install_mutex);
  if (installed++ == 0) TakePlace();
}

void WaitHook::Renew() {
  bool was_replaced = false, is_left_out = false;
  {
    const std::lock_guard lock(install_mutex);
    if (installed == 0) return;
    const THD_event_functions* const before = PlaceOfHook().load();
    is_left_out = !TakePlace() && !std::exchange(has_warned, true);
    was_replaced = PlaceOfHook().load() != before;
  }
  if (was_replaced) {
    LogNote(
        "another library, as a thread pool is, had taken the place at which InnoDB tells of lock "
        "waits: rowsocket.so has put itself in front of it");
  }
  if (is_left_out) {
    LogWarning(
        "another library has taken the place at which InnoDB tells of lock waits, for the second "
        "time: a worker that meets a locked row delays the other clients of its port");
  }
}

// If a library has put itself before a link, it may go on calling it: the link then stays, and
// finds no thread that refuses waits.
void WaitHook::Remove() {
  const std::lock_guard lock(install_mutex);
  if (--installed != 0) return;
  for (Link& link : links) {
    if (PlaceOfHook().load() != &link.functions) continue;
    PlaceOfHook().store(link.previous.load());
    link.is_taken = false;
    return;
  }
}

void WaitHook::RefuseWaits(THD* thd) { refusing = thd; }

THD* WaitHook::AllowWaits() { return std::exchange(refusing, nullptr); }

bool WaitHook::TakeMetLock() {
  const bool met = met_lock;
  met_lock = false;
  return met;
}

}  // namespace rowsocket::engine::server
