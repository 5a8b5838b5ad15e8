// How a storage engine shows this server that it is available, and takes part in a transaction.
#pragma once

#include "declare.h"

namespace rowsocket::plugin::contract {

/// Every engine that starts is available.
inline void SetAvailable(handlerton*) {}

inline void JoinTransactionThatWrites(THD* thd, handlerton* engine) {
  trans_register_ha(thd, /*all=*/true, engine, 0);
  thd->ha_data[engine->slot].ha_info[1].set_trx_read_write();
}

}  // namespace rowsocket::plugin::contract
