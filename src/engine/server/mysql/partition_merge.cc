#include "engine/server/partition_merge.h"

namespace rowsocket::engine::server {

// Never called: no column of MySQL is MergesPartitionsBy, which these functions require.
void PartitionMerge::Begin(TABLE*, uint, bool) {}
int PartitionMerge::First(const uchar*, key_part_map, ha_rkey_function) {
  return HA_ERR_END_OF_FILE;
}
int PartitionMerge::Next() { return HA_ERR_END_OF_FILE; }
void PartitionMerge::StorePosition() {}

}  // namespace rowsocket::engine::server
