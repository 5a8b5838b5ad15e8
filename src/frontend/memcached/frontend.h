// The memcached protocol on one connection: text, meta and binary, onto the rows of containers.
//
// Flow: Parse makes a MemcachedWork of a command: its keys become Targets (target.h); a get becomes
// finds (reads.h), a command that may change a row becomes edits (edits.h), and all other commands
// except flush_all (flush.h) are answered without the engine (replies.h). Threads and lifetime: see
// exec/frontend.h; the connection holds the snapshot of the containers that its requests in a turn
// refer to.
// Limits: those of the parser, and reply_bytes_max for a reply of many keys.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "exec/frontend.h"
#include "frontend/memcached/shared.h"
#include "frontend/memcached/work.h"
#include "protocol/memcached/login.h"
#include "protocol/memcached/parser.h"

namespace rowsocket::frontend {

class MemcachedFrontend final : public exec::Frontend {
 public:
  explicit MemcachedFrontend(MemcachedShared& shared)
      : shared_(shared), is_logged_in_(!shared.settings.accounts) {
    SetAccount(shared.settings.account);
  }

  Step Parse(std::string_view input, bool after_requests, base::Arena& arena,
             exec::Item* item) override;
  void Rewind() override { parser_.Rewind(); }
  size_t input_bytes_max() const override {
    return is_logged_in_ ? memcached::InputBytesMax(shared_.settings.limits)
                         : memcached::LoginBytesMax();
  }
  bool authenticated() const override { return is_logged_in_; }
  std::string name() const override { return name_; }
  void LoginEnded(const model::Error& answer, base::Buffer& out) override;
  void AccountEnded(base::Buffer& out) override;
  void Opened(exec::Item& item, const engine::Outcome& outcome,
              std::shared_ptr<engine::Index> index) override;
  engine::Outcome Execute(const exec::Item& item, engine::Session& session,
                          base::Buffer& out) const override;
  bool MayConcern(const exec::Item& item, const exec::WriteSet& writes) const override;
  void AddWrites(const exec::Item& item, exec::WriteSet& writes) const override;
  void Reply(const exec::Item& item, base::Buffer& out) const override;
  void VisitRows(const exec::Item& item,
                 const std::function<void(const exec::RowName&)>& visit) const override {
    if (item.detail == nullptr) return;
    for (const MemcachedTarget& target : static_cast<const MemcachedWork*>(item.detail)->targets) {
      if (target.container != nullptr) visit({*target.container->get_index, target.parts});
    }
  }
  void Refuse(exec::Item& item, const model::Error& error, base::Arena& arena) const override;
  void ReplyError(const exec::Item& item, model::Error error, base::Buffer& out) const override;
  void RefusePlain(std::string_view begin, base::Buffer& out) const override;
  void Finished(const exec::Item& item, const model::Error& answer) override;

 private:
  Step ParseOne(std::string_view input, bool after_requests, base::Arena& arena, exec::Item* item);
  Step ParseLogin(std::string_view input, base::Arena& arena, exec::Item* item);
  void TakeSnapshot();
  void ResolveFlush(base::Arena& arena, MemcachedWork* work) const;
  void ResolveKeys(base::Arena& arena, MemcachedWork* work);
  /// Whether the command has the mapping tables read.
  bool AsksForContainer(const MemcachedWork& work) const;
  bool Switch(base::Arena& arena, MemcachedWork* work, exec::Item* item);
  void Prepare(base::Arena& arena, MemcachedWork* work, exec::Item* item);
  /// Why a target cannot be used.
  std::string WhyNot(const MemcachedTarget& target) const;
  /// Refuses commands that can be refused before they are executed.
  bool RefuseUnexecuted(base::Arena& arena, MemcachedWork* work);
  /// Splits the value that is to be stored into columns.
  bool TakeValue(base::Arena& arena, MemcachedWork* work);
  void CountDetails(const MemcachedWork& work, bool is_answered);
  /// Counts the command for its containers. REQUIRES: the work belongs to a kRequest item, whose
  /// containers still exist.
  void CountContainers(const MemcachedWork& work, bool failed);
  /// Undoes the marks of a request that has failed. REQUIRES: as CountContainers.
  void UndoMarks(const MemcachedWork& work);
  void PrepareFlush(base::Arena& arena, MemcachedWork* work, exec::Item* item);

  MemcachedShared& shared_;
  memcached::Parser parser_;
  std::shared_ptr<const keyspace::Snapshot> snapshot_;
  /// The snapshot before snapshot_, which items of a turn may use while the last of them is parsed
  /// again for the wait lane.
  std::shared_ptr<const keyspace::Snapshot> former_snapshot_;
  const keyspace::Container* default_container_ =
      nullptr;               ///< The container of keys that name none.
  std::string switched_to_;  ///< The container that `get @@name` has chosen; empty: none.
  /// The answer to whether the account may see the table of switch_asked_; without a value: not
  /// asked yet.
  std::optional<model::Error> switch_answer_;
  /// The index of the container that the last `get @@name` named. The next such command compares
  /// its index with it, because the name may then mean another table.
  std::shared_ptr<engine::Index> switch_asked_;
  /// How many bytes of the input had come when the mapping tables were read for it.
  mutable size_t refreshed_bytes_ = 0;
  std::string name_;  ///< The name that the client has given its connection.
  /// Requests that may win or change a mark are numbered from here on, in the order of the client's
  /// input.
  const uint64_t first_serial_ = shared_.next_connection.fetch_add(1, std::memory_order_relaxed)
                                 << 32;
  uint64_t numbered_ = 0;           ///< How many numbered requests were parsed.
  uint64_t numbered_finished_ = 0;  ///< How many numbered requests were answered.
  bool is_logged_in_;               ///< The client may send more than a login.
  /// The dialect of the answer to the login under way.
  memcached::Dialect login_dialect_ = memcached::Dialect::kText;
  uint8_t login_opcode_ = 0;
  uint32_t login_opaque_ = 0;
};

}  // namespace rowsocket::frontend
