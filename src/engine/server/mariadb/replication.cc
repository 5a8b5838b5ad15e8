#include "replication.h"

#include <atomic>

#include "galera_api.h"

namespace rowsocket::engine::server {

namespace {

/// Whether any source is configured. REQUIRES: LOCK_active_mi. The index of sources exists only
/// when the server has started.
bool AnySource() {
  if (master_info_index == nullptr) return true;
  const HASH& sources = master_info_index->master_info_hash;
  for (ulong i = 0; i < sources.records; ++i) {
    const auto* source =
        reinterpret_cast<const Master_info*>(my_hash_element(const_cast<HASH*>(&sources), i));
    if (source->host[0] != '\0') return true;
  }
  return false;
}

}  // namespace

// STOP ALL SLAVES may hold the mutex for long: then the answer of the last call counts.
bool HasReplicationSource() {
  static std::atomic<bool> known{true};
  if (mysql_mutex_trylock(&LOCK_active_mi) != 0) return known.load();
  const bool has_source = AnySource();
  mysql_mutex_unlock(&LOCK_active_mi);
  known.store(has_source);
  return has_source;
}

bool IsFirstGaleraNode() {
#ifdef WITH_WSREP
  return wsrep_ready_get() && wsrep_local_index == 0;
#else
  return false;
#endif
}

bool IsGaleraNode() {
#ifdef WITH_WSREP
  return WSREP_PROVIDER_EXISTS_ && global_system_variables.wsrep_on;
#else
  return false;
#endif
}

}  // namespace rowsocket::engine::server
