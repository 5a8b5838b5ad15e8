#include "engine/server/row_finder.h"

#include <algorithm>

#include "model/limits.h"

namespace rowsocket::engine::server {

using model::ErrorCode;

ErrorCode RowFinder::Prepare(THD* thd, OpenTable& open, IndexState& index,
                             const model::Find& find) {
  thd_ = thd;
  open_ = &open;
  index_ = &index;
  find_ = &find;
  in_next_ = 0;
  skipped_ = taken_ = 0;
  started_ = false;
  const KEY& key = index.key_info(open);
  if (find.key_parts_given > UserKeyParts(key).count) return ErrorCode::kKpnum;
  if (find.whole_key && !NamesOneRow(key, find.key)) return ErrorCode::kKpnum;
  const ErrorCode error = PrepareFilters();
  if (error != ErrorCode::kNone) return error;
  const ErrorCode wrong = PrepareScan();
  return wrong == ErrorCode::kNone ? CheckFilters() : wrong;
}

// An IN list is prepared before any row is read, so that an index that cannot answer, or a value
// without a place in the order, is refused first. For `=` the first value of the list stands for
// all.
ErrorCode RowFinder::PrepareScan() {
  const model::Find& find = *find_;
  if (!find.has_in) return scan_.Prepare(thd_, *open_, *index_, find.op, find.key);
  if (find.in_part >= find.key.size()) return ErrorCode::kKpnum;
  in_key_.assign(find.key.begin(), find.key.end());
  const size_t values = find.op == model::CompareOp::kEq ? 1 : find.in_values.size();
  for (size_t i = 0; i < values; ++i) {
    in_key_[find.in_part] = find.in_values[i];
    const ErrorCode wrong = scan_.Prepare(thd_, *open_, *index_, find.op, in_key_);
    if (wrong != ErrorCode::kNone) return wrong;
  }
  return ErrorCode::kNone;
}

ErrorCode RowFinder::PrepareFilters(THD* thd, OpenTable& open, IndexState& index,
                                    const model::Find& find) {
  thd_ = thd;
  open_ = &open;
  index_ = &index;
  find_ = &find;
  const ErrorCode wrong = PrepareFilters();
  return wrong == ErrorCode::kNone ? CheckFilters() : wrong;
}

ErrorCode RowFinder::PrepareFilters() {
  const auto& filters = find_->filters;
  // Keeps some values of earlier requests for reuse, but not the memory that large values took.
  for (size_t i = filters.size(); i < filters_.size(); ++i) filters_[i].Shrink();
  filters_.resize(std::max(filters.size(), std::min(filters_.size(), model::kKeptFiltersMax)));
  for (size_t i = 0; i < filters.size(); ++i) {
    Field* field = open_->table->field[index_->filter_fields()[filters[i].column]];
    if (IsBlob(*field) && !filters[i].value.is_null()) return ErrorCode::kFilterblob;
    filters_[i].Prepare(thd_, field, filters[i].value);
  }
  return ErrorCode::kNone;
}

ErrorCode RowFinder::CheckFilters() const {
  const auto& filters = find_->filters;
  for (size_t i = 0; i < filters.size(); ++i) {
    const model::CompareOp op = filters[i].op;
    const bool is_range = op != model::CompareOp::kEq && op != model::CompareOp::kNe;
    if (is_range && filters_[i].has_foreign_characters()) return ErrorCode::kCharset;
  }
  return ErrorCode::kNone;
}

int RowFinder::Next() {
  while (taken_ < find_->limit) {
    const int error = NextCandidate();
    if (error == HA_ERR_KEY_NOT_FOUND) return HA_ERR_END_OF_FILE;
    if (error != 0) return error;
    switch (ApplyFilters()) {
      case Verdict::kStop:
        return HA_ERR_END_OF_FILE;
      case Verdict::kSkip:
        continue;
      case Verdict::kTake:
        break;
    }
    if (skipped_ < find_->offset) {
      ++skipped_;
      continue;
    }
    ++taken_;
    return 0;
  }
  return HA_ERR_END_OF_FILE;
}

int RowFinder::NextCandidate() {
  if (find_->has_in) return NextOfInList();
  if (started_) return scan_.Next();
  started_ = true;
  return scan_.First();
}

// Looks up each value of the list, and takes its first row only; values that are not found are
// skipped.
int RowFinder::NextOfInList() {
  while (in_next_ < find_->in_values.size()) {
    if (IsKilled(*thd_)) return kInterrupted;
    in_key_[find_->in_part] = find_->in_values[in_next_++];
    scan_.Prepare(thd_, *open_, *index_, find_->op, in_key_);
    const int error = scan_.First();
    if (error != HA_ERR_KEY_NOT_FOUND && error != HA_ERR_END_OF_FILE) return error;
  }
  return HA_ERR_END_OF_FILE;
}

RowFinder::Verdict RowFinder::ApplyFilters() {
  for (size_t i = 0; i < find_->filters.size(); ++i) {
    const model::Filter& filter = find_->filters[i];
    Field* field = open_->table->field[index_->filter_fields()[filter.column]];
    if (!filters_[i].Holds(field, filter.op)) {
      return filter.stops_scan ? Verdict::kStop : Verdict::kSkip;
    }
  }
  return Verdict::kTake;
}

}  // namespace rowsocket::engine::server
