#include "engine/server/table_audit.h"

namespace rowsocket::engine::server {

const bool kHasTableAudit = false;

bool TableAudit::IsWanted() { return false; }

void TableAudit::Tell(THD*, const TableAccess&) {}

void TableAudit::Release() {}

void TableAudit::Close() {}

}  // namespace rowsocket::engine::server
