// What the system variables of the plugins have in common. Their declarations are generated from
// spec/variables.tsv: `values`, which the server sets, and `sys_vars`, the list that it gets.
//
// Flow: the server sets `values`; a plugin that starts takes a copy of them.
// Threads: the server sets a variable under its own lock, and may do so while workers read: they
// read a copy, except of variables of the type bool that spec/variables.tsv marks `global` or
// `checked`, which are one byte.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "declare.h"
#include "exec/account_limits.h"
#include "model/limits.h"
#include "net/listener.h"
#include "plugin/host.h"
#include "plugin/kill_variable.h"
#include "plugin/tls.h"

namespace rowsocket::plugin {

/// The copies for workers of the variables that every plugin has; null strings are empty.
struct CommonVariables {
  std::string address, port, socket, user;
  unsigned threads = 0;
  unsigned lock_wait_threads = 0;
  unsigned wrlock_timeout_s = 0;
  bool accounts = false;
  bool accounts_insecure = false;
  unsigned auth_threads = 0;
  const exec::AccountLimitSettings* account_limits = nullptr;
  TlsVariables tls;
  net::ListenOptions listen;
  model::Limits limits;
};

/// The values of two variables, for the workers of a plugin. SET GLOBAL changes them.
template <PluginName kPlugin>
inline exec::AccountLimitSettings account_limits;

/// `readers`: how many workers read where `threads` is 0. SHOW VARIABLES then shows this number.
template <PluginName kPlugin, typename Values>
void TakeCommon(Values* shown, unsigned readers, CommonVariables* taken) {
  if (shown->threads == 0) shown->threads = readers;
  const Values& values = *shown;
  account_limits<kPlugin>.requests_per_second.store(values.account_requests_per_second);
  account_limits<kPlugin>.share_percent.store(values.account_share_percent);
  taken->address = Text(values.address);
  taken->port = Text(values.port);
  taken->socket = Text(values.socket);
  taken->user = Text(values.user);
  taken->threads = values.threads;
  taken->lock_wait_threads = values.lock_wait_threads;
  taken->wrlock_timeout_s = values.wrlock_timeout;
  taken->accounts = values.accounts;
  taken->accounts_insecure = values.accounts_insecure;
  taken->auth_threads = values.auth_threads;
  taken->account_limits = &account_limits<kPlugin>;
  taken->tls = {static_cast<net::TlsMode>(values.ssl),
                static_cast<ClientCert>(values.ssl_client_cert)};
  taken->listen.backlog = static_cast<int>(values.backlog);
  taken->limits.reply_bytes_max = values.reply_max_bytes;
  taken->limits.connections_max = values.connections_max;
  taken->limits.buffered_bytes_max = values.buffer_max_bytes;
  taken->limits.memory_bytes_max = values.memory_max_bytes;
  taken->limits.idle_timeout_s = values.timeout;
  taken->limits.auth_timeout_s = values.auth_timeout;
}

// --- For the generated declarations ---

inline constexpr int kReadOnlyString = PLUGIN_VAR_READONLY | PLUGIN_VAR_MEMALLOC;

/// The values of a variable of the type ENUM; a null pointer ends `names`.
template <unsigned kCount>
TYPELIB MakeTypelib(const char* (&names)[kCount]) {
  TYPELIB made{};
  made.count = kCount - 1;
  made.name = "";
  made.type_names = names;
  return made;
}

/// Sets a variable of the type UINT, and kCopy, which workers read.
template <std::atomic<uint32_t>& kCopy>
void SetNumber(MYSQL_THD, SystemVariable*, void* target, const void* save) {
  const unsigned value = *static_cast<const unsigned*>(save);
  *static_cast<unsigned*>(target) = value;
  kCopy.store(value, std::memory_order_relaxed);
}

/// Defines what the generated declarations of a plugin name for the variables that every plugin
/// has. `plugin`: its name, in quotes.
#define ROWSOCKET_COMMON_SETTERS(plugin)                                                    \
  constexpr auto kSetAccountRequestsPerSecond =                                             \
      SetNumber<account_limits<plugin>.requests_per_second>;                                \
  constexpr auto kSetAccountSharePercent = SetNumber<account_limits<plugin>.share_percent>; \
  constexpr auto kCheckKillConnection = CheckConnection<plugin>;                            \
  constexpr auto kSetKillConnection = EndConnection<plugin>;

}  // namespace rowsocket::plugin
