// What a session knows of an opened Index: what its names mean in the open table right now.
//
// Threads: the session's.
// Lifetime: as long as the session, or until another Index has its id; the columns and the key are
// valid for one generation of Tables, and are looked up again after DDL.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api.h"
#include "base/require.h"
#include "engine/server/cell_reader.h"
#include "engine/server/hash_key.h"
#include "engine/server/merge_rules.h"
#include "engine/server/rights.h"
#include "engine/server/simple_key.h"
#include "engine/server/tables.h"
#include "engine/session.h"

namespace rowsocket::engine::server {

class IndexState {
 public:
  explicit IndexState(const Index& index) : index_(index), serial_(index.serial()) {}
  ~IndexState();
  IndexState(const IndexState&) = delete;
  IndexState& operator=(const IndexState&) = delete;

  const IndexNames& names() const { return index_.names(); }
  /// What accounts may do through the index.
  RightsKept& rights() { return rights_; }

  /// The serial of the Index. Once another Index has its id, this state is of no use any more.
  uint64_t serial() const { return serial_; }

  /// Opens the table for reading, if it is not open, and looks up all names in it.
  Outcome ResolveForRead(Tables& tables, OpenTable** open) {
    if (!IsResolvedFor(Access::kRead, tables)) [[unlikely]]
      return Resolve(tables, Access::kRead, open);
    *open = opens_[At(Access::kRead)];
    return {};
  }
  /// Opens the instance that writes go to, if it is not open, and looks up all names in it.
  Outcome ResolveForWrite(Tables& tables, OpenTable** open);

  /// Whether the names are looked up in an instance that is open now, for reading or for writing.
  bool IsResolved(const Tables& tables) const {
    return IsResolvedFor(Access::kRead, tables) || IsResolvedFor(Access::kWrite, tables);
  }
  /// One of the open instances. REQUIRES: IsResolved.
  const TABLE& table(const Tables& tables) const {
    ROWSOCKET_REQUIRE(IsResolved(tables));
    const Access resolved = IsResolvedFor(Access::kRead, tables) ? Access::kRead : Access::kWrite;
    return *opens_[At(resolved)]->table;
  }

  // Valid after a successful Resolve, until the tables' generation changes.
  uint key() const { return key_; }
  KEY& key_info(const OpenTable& open) const { return open.table->key_info[key_]; }
  const std::vector<uint>& column_fields() const { return column_fields_; }
  const std::vector<uint>& filter_fields() const { return filter_fields_; }
  /// The rules for merging in the instance that writes go to.
  const MergeRules& merge_rules(Tables& tables, const OpenTable& open);
  /// Readers of the opened columns of the instance that finds use. REQUIRES: ResolveForRead.
  const std::vector<CellReader>& readers() const { return readers_; }
  const SimpleKey& simple_key() const { return simple_key_; }
  /// False when the engine cannot serve the operator in index order. `parts`: how many parts of the
  /// key are given.
  bool CanAnswer(model::CompareOp op, uint parts) const {
    return answers_[parts == whole_key_parts_][static_cast<size_t>(op)];
  }

  /// Makes reads fill the columns by which rows are put into the order of the index.
  void MarkOrderForReading(const TABLE& table) const;

  /// Whether only PartitionMerge gives the rows of several partitions in order.
  bool merges_partitions() const { return merges_partitions_; }

  /// Makes the handler of the instance that finds use ready to read through this index, unless it
  /// is ready. `reads_key`: the key parts of rows are compared, so that they are read even if
  /// they are not opened columns.
  int PrepareToRead(OpenTable& open, bool reads_key);

 private:
  /// The place of an access in opens_ and generations_.
  static constexpr size_t At(Access access) { return static_cast<size_t>(access); }
  bool IsResolvedFor(Access access, const Tables& tables) const {
    return generations_[At(access)] == tables.generation();
  }
  Outcome Resolve(Tables& tables, Access access, OpenTable** open);
  model::ErrorCode LookUp(TABLE* table);
  void LookUpAnswers(const TABLE* table);
  bool MakeReadSets(TABLE* table);
  /// Whether the index alone holds these columns as they are. False for the clustered index, which
  /// is the table.
  bool IsCovered(const TABLE* table, const MY_BITMAP& fields) const;

  /// May have gone with its last holder. A state whose serial is not that of the Index with its id
  /// is replaced before index_ is read.
  const Index& index_;
  const uint64_t serial_;
  OpenTable* opens_[2] = {nullptr, nullptr};  ///< By Access.
  uint64_t generations_[2] = {0, 0};          ///< By Access.
  uint key_ = 0;
  std::vector<uint> column_fields_;
  std::vector<uint> filter_fields_;
  MergeRules merge_rules_;
  uint64_t merge_rules_generation_ = 0;
  std::vector<CellReader> readers_;
  SimpleKey simple_key_;
  uint whole_key_parts_ = 0;
  bool merges_partitions_ = false;
  bool answers_[2][model::kCompareOps] = {};  ///< By whether the whole key is given, and CompareOp.
  // The columns that a find reads: opened columns and filter columns; the second set has the key
  // parts as well.
  MY_BITMAP read_sets_[2] = {};
  RightsKept rights_;
  bool covered_[2] = {false, false};  ///< Whether the index holds all columns of the read set.
};

/// Replaces the named columns in `*columns` by the columns that `lists` means; `names` says which
/// index of the table is meant. REQUIRES: `lists` is not kNamed.
model::ErrorCode ColumnsOf(const TABLE& table, const IndexNames& names, IndexNames::Lists lists,
                           std::vector<std::string>* columns);

/// Whether the values are for all parts of a unique key, so that they name one row at most.
bool NamesOneRow(const KEY& key, std::span<const model::Value> values);

}  // namespace rowsocket::engine::server
