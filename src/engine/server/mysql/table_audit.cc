// Empty in MySQL, whose servers have no audit plugin that could be told of a table
// (docs/adr/0028-audit.md).
#include "engine/server/table_audit.h"

namespace rowsocket::engine::server {

const bool kHasTableAudit = false;

bool TableAudit::IsWanted() { return false; }

void TableAudit::Tell(THD*, const TableAccess&) {}

void TableAudit::Release() {}

void TableAudit::Close() {}

}  // namespace rowsocket::engine::server
