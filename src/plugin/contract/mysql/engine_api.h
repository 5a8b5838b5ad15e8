// How a storage engine shows this server that it is available, and takes part in a transaction.
#pragma once

#include "declare.h"

namespace rowsocket::plugin::contract {

inline void SetAvailable(handlerton* engine) { engine->state = SHOW_OPTION_YES; }

inline void JoinTransactionThatWrites(THD* thd, handlerton* engine) {
  trans_register_ha(thd, /*all=*/true, engine, /*trxid=*/nullptr);
  thd->get_ha_data(engine->slot)->ha_info[1].set_trx_read_write();
}

}  // namespace rowsocket::plugin::contract
