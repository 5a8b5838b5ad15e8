// How a storage engine is declared to this server and takes part in a transaction.
#pragma once

#include "declare.h"

namespace rowsocket::plugin::contract {

inline PluginDeclaration DeclareEngine(const char* name, const char* description,
                                       st_mysql_storage_engine* info, int (*init)(void*)) {
  return {
      MYSQL_STORAGE_ENGINE_PLUGIN,
      info,
      name,
      "Rowsocket",
      description,
      PLUGIN_LICENSE_GPL,
      init,
      /*deinit=*/nullptr,
      0x0100,
      /*status_vars=*/nullptr,
      /*system_vars=*/nullptr,
      model::kVersion,
      MariaDB_PLUGIN_MATURITY_GAMMA,
  };
}

/// Every engine that starts is available.
inline void SetAvailable(handlerton*) {}

inline void JoinTransactionThatWrites(THD* thd, handlerton* engine) {
  trans_register_ha(thd, /*all=*/true, engine, 0);
  thd->ha_data[engine->slot].ha_info[1].set_trx_read_write();
}

}  // namespace rowsocket::plugin::contract
