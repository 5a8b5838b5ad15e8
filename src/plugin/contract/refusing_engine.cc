#include "plugin/contract/refusing_engine.h"

#include "engine_api.h"

namespace rowsocket::plugin::contract {

namespace {

handlerton* refusing_engine = nullptr;
st_mysql_storage_engine info = {MYSQL_HANDLERTON_INTERFACE_VERSION};

// Templates take any arguments, because these differ between servers.
template <typename... Arguments>
int Succeed(Arguments...) {
  return 0;
}
template <typename... Arguments>
int Refuse(Arguments...) {
  return 1;
}

int Init(void* engine) {
  refusing_engine = static_cast<handlerton*>(engine);
  refusing_engine->flags = HTON_HIDDEN | HTON_NOT_USER_SELECTABLE;
  refusing_engine->commit = Succeed;
  refusing_engine->rollback = Succeed;
  refusing_engine->prepare = Refuse;
  SetAvailable(refusing_engine);
  return 0;
}

}  // namespace

PluginDeclaration DeclareRefusingEngine() {
  PluginDeclaration engine =
      NamedPlugin(MYSQL_STORAGE_ENGINE_PLUGIN, &info, "rowsocket_refusing_engine",
                  "An engine that refuses to prepare a transaction; for tests alone");
  engine.init = Init;
  return engine;
}

// The server does not ask an engine that has changed nothing to prepare: this engine says that it
// has changed something.
void FailCommitOfThisTransaction() { JoinTransactionThatWrites(current_thd, refusing_engine); }

}  // namespace rowsocket::plugin::contract
