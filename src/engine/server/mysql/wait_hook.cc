#include "wait_hook.h"

#include <mutex>
#include <utility>

namespace rowsocket::engine::server {

namespace {

/// The THD of this thread whose waits are canceled; null: its waits are let be.
thread_local THD* refusing = nullptr;
thread_local bool met_lock = false;

std::mutex install_mutex;
unsigned installed = 0;
THD_event_functions* previous = nullptr;
THD_event_functions hook = {};

/// Called by the server's threads, with none of InnoDB's latches held.
void BeginWait(THD* thd, int type) {
  if (previous != nullptr && previous->thd_wait_begin != nullptr) {
    previous->thd_wait_begin(thd, type);
  }
  if (thd == nullptr || thd != refusing) return;
  if (type != THD_WAIT_ROW_LOCK && type != THD_WAIT_TABLE_LOCK) return;
  met_lock = true;
  THD::killed_state expected = THD::NOT_KILLED;
  thd->killed.compare_exchange_strong(expected, THD::KILL_QUERY);
  innodb_hton->kill_connection(innodb_hton, thd);
}

}  // namespace

void WaitHook::Install() {
  const std::lock_guard lock(install_mutex);
  if (installed++ != 0) return;
  THD_event_functions*& functions = Connection_handler_manager::event_functions;
  if (functions == &hook) return;
  previous = functions;
  hook = previous != nullptr ? *previous : THD_event_functions{};
  hook.thd_wait_begin = BeginWait;
  functions = &hook;
}

// A library that has put itself in front of the hook calls it on: then the hook stays, and finds no
// thread that refuses.
void WaitHook::Remove() {
  const std::lock_guard lock(install_mutex);
  if (--installed != 0) return;
  THD_event_functions*& functions = Connection_handler_manager::event_functions;
  if (functions == &hook) functions = previous;
}

void WaitHook::RefuseWaits(THD* thd) { refusing = thd; }

THD* WaitHook::AllowWaits() { return std::exchange(refusing, nullptr); }

bool WaitHook::TakeMetLock() {
  const bool met = met_lock;
  met_lock = false;
  return met;
}

}  // namespace rowsocket::engine::server
