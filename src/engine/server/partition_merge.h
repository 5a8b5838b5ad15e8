// Reads an index of a partitioned table in order by merging its partitions, as the server itself
// does, but correctly if the index has virtual columns. MariaDB computes those only in a row
// that is read into record[0], so that its own merging compares stale bytes of other buffers. One
// .cc for each family of servers; MySQL's own merging compares virtual columns rightly, so that its
// .cc merges nothing.
//
// Flow: Begin, First, then Next until one returns an error number. The row is in record[0].
// Threads: the session's.
// Lifetime: of a scan; the partitions' cursors belong to the table's handler, which is initialized
// for the index before First and ends them itself.
// Errors: the handler's HA_ERR_ numbers.
#pragma once

#include <vector>

#include "api.h"

namespace rowsocket::engine::server {

/// REQUIRES of each call: MergesPartitionsBy is true for a column of the index.
class PartitionMerge {
 public:
  void Begin(TABLE* table, uint key, bool descending);

  /// Begins at the first row by the key; with a `key_map` of 0, at whichever end of the index comes
  /// first in the order.
  int First(const uchar* key_image, key_part_map key_map, ha_rkey_function flag);
  int Next();

  /// Puts the position of the row in record[0] into handler::ref: handler::position() would name
  /// the partition that the server itself has read last.
  void StorePosition();

 private:
  /// The next row of one partition.
  struct Candidate {
    uint partition = 0;
    std::vector<uchar> row;
    std::vector<uchar> key;  ///< Key image of the index, then that of a clustered primary key.
  };

  handler* Child(uint partition) const;
  void Fill(Candidate* candidate);
  int Show();
  int Compare(const Candidate& left, const Candidate& right) const;
  /// The order of a heap whose front is the row that comes first.
  bool ComesAfter(const Candidate& left, const Candidate& right) const {
    const int order = Compare(left, right);
    return descending_ ? order < 0 : order > 0;
  }

  TABLE* table_ = nullptr;
  const KEY* keys_[2] = {nullptr, nullptr};  ///< The index; the clustered primary key, if any.
  bool descending_ = false;
  std::vector<Candidate> heap_;
};

}  // namespace rowsocket::engine::server
