// The rows of a partitioned table in the order of an index. MySQL's own merging of partitions
// compares virtual columns as well, so that nothing is merged here.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

/// No member is called: MergesPartitionsBy is false for every column.
class PartitionMerge {
 public:
  void Begin(TABLE*, uint, bool) {}
  int First(const uchar*, key_part_map, ha_rkey_function) { return HA_ERR_END_OF_FILE; }
  int Next() { return HA_ERR_END_OF_FILE; }
  void StorePosition() {}
};

}  // namespace rowsocket::engine::server
