// The server's headers about Galera, only for cluster.cc: they define macros of common words.
#pragma once

#include "api.h"

// clang-format off
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <mysql/service_wsrep.h>
// The service's macros of these names hide the functions that the next headers declare.
#undef wsrep_xid_seqno
#undef wsrep_xid_uuid
#include <wsrep_binlog.h>
#include <wsrep_mysqld.h>
#include <wsrep_server_state.h>
#include <wsrep_thd.h>
#include <wsrep_trans_observer.h>
#include <wsrep_var.h>
#pragma GCC diagnostic pop
// clang-format on

namespace rowsocket::engine::server {

/// Whether a provider is loaded, even if the global wsrep_on is OFF.
inline bool IsProviderLoaded() {
  return Wsrep_server_state::is_inited() && Wsrep_server_state::instance().is_provider_loaded();
}

}  // namespace rowsocket::engine::server
