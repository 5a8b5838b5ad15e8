#include "plugin/contract/commit_failure.h"

#include "api.h"

namespace rowsocket::plugin::contract {

namespace {

handlerton* refusing_engine = nullptr;

// Templates take the arguments, which differ between servers.
template <typename... Arguments>
int Succeed(Arguments...) {
  return 0;
}
template <typename... Arguments>
int Refuse(Arguments...) {
  return 1;
}

}  // namespace

void RegisterCommitFailure(void* engine) {
  refusing_engine = static_cast<handlerton*>(engine);
  refusing_engine->flags = HTON_HIDDEN | HTON_NOT_USER_SELECTABLE;
  refusing_engine->commit = Succeed;
  refusing_engine->rollback = Succeed;
  refusing_engine->prepare = Refuse;
}

// The server does not ask an engine that has changed nothing to prepare: this engine says that it
// has changed something.
void FailCommitOfThisTransaction() {
  THD* const thd = _current_thd();
  trans_register_ha(thd, /*all=*/true, refusing_engine, 0);
  thd->ha_data[refusing_engine->slot].ha_info[1].set_trx_read_write();
}

}  // namespace rowsocket::plugin::contract
