#include "frontend/memcached/reads.h"

#include "keyspace/row.h"

namespace rowsocket::frontend {

using engine::Outcome;
using memcached::Command;
using memcached::Dialect;

namespace {

base::Buffer& Joined() {
  thread_local base::Buffer joined;
  if (joined.capacity() > model::kKeptValueBytesMax) joined.Release();
  return joined;
}

/// Takes the cas of the only row of a find.
class CasReader final : public model::RowSink {
 public:
  CasReader(const MemcachedTarget& target, uint64_t* cas)
      : row_(*target.container, target, target.container->full_layout, Joined()), cas_(*cas) {
    row_.Begin();
  }
  bool Cell(std::string_view text) override { return Take(model::Value(text)); }
  bool NullCell() override { return Take(model::Value()); }

 private:
  bool Take(const model::Value& cell) {
    if (row_.Take(cell)) cas_ = row_.cas();
    return true;
  }

  keyspace::RowView row_;
  uint64_t& cas_;
};

bool TellsAccess(const Command& command) {
  return command.meta.returns.find_first_of("hl") != std::string_view::npos;
}

bool AsksForMarks(const Command& command) {
  return command.dialect == Dialect::kMeta &&
         (command.meta.has_recache || command.verb == memcached::Verb::kMetaDebug ||
          TellsAccess(command));
}

/// Whether the command itself asks for the cas, or for what only the cas tells.
bool AsksForCas(const Command& command) {
  return command.compares_cas || TellsCas(command) || AsksForMarks(command);
}

/// Writes the only row of a find to the reply when its last cell comes.
class HitWriter final : public model::RowSink {
 public:
  /// `out_bytes_max`: the size that the buffer may have after the value.
  HitWriter(MemcachedShared& shared, MemcachedWork& work, const MemcachedTarget& target,
            bool has_cas, size_t out_bytes_max, base::Buffer& out)
      : shared_(shared),
        work_(work),
        target_(target),
        has_cas_(has_cas),
        out_bytes_max_(out_bytes_max),
        row_(*target.container, target,
             has_cas ? target.container->full_layout : target.container->get_layout, Joined()),
        out_(out) {
    row_.Begin();
  }

  bool Cell(std::string_view text) override {
    bytes_read_ += text.size();
    return Take(model::Value(text));
  }
  bool NullCell() override { return Take(model::Value()); }

  /// The bytes of the row's cells, even if the row is no hit.
  size_t bytes_read() const { return bytes_read_; }
  bool hit() const { return hit_; }
  bool expired() const { return expired_; }

 private:
  bool Take(const model::Value& cell) { return !row_.Take(cell) || Finish(); }

  /// Ends the reply. False when the value is more than the reply may hold.
  bool Finish() {
    if (!row_.is_there()) return true;
    const Command& command = work_.command;
    const bool is_meta = command.dialect == Dialect::kMeta;
    const int64_t now_ms = is_meta || row_.may_expire() ? shared_.keyspaces->NowMs() : 0;
    expired_ = row_.may_expire() && row_.is_expired(now_ms);
    if (expired_) return true;
    if (command.returns_value && out_.size() + row_.value().size() > out_bytes_max_) return false;
    hit_ = true;
    memcached::Item item;
    item.value = row_.value();
    item.size = row_.value().size();
    item.client_flags = row_.flags();
    if (has_cas_) item.cas = row_.cas();
    if (is_meta) {
      item.ttl_s = keyspace::TtlOf(row_.expiry_ms(), now_ms);
      if (has_cas_) TellMarks(shared_, work_, target_, {now_ms, item.ttl_s}, &item);
    }
    if (command.verb == memcached::Verb::kMetaDebug)
      Debug(item);
    else
      memcached::AppendHit(command, target_.key, item, &out_);
    return true;
  }

  void Debug(const memcached::Item& item) {
    const std::string details =
        "exp=" + std::to_string(item.ttl_s) + " la=" + std::to_string(item.last_access_s) +
        " cas=" + std::to_string(item.cas) + " fetch=" + (item.was_fetched ? "yes" : "no") +
        " cls=1 size=" + std::to_string(item.size);
    memcached::AppendMetaDebug(work_.command, details, &out_);
  }

  MemcachedShared& shared_;
  MemcachedWork& work_;
  const MemcachedTarget& target_;
  const bool has_cas_;
  const size_t out_bytes_max_;
  keyspace::RowView row_;
  base::Buffer& out_;
  size_t bytes_read_ = 0;
  bool hit_ = false;
  bool expired_ = false;
};

}  // namespace

bool TellsCas(const Command& command) {
  return command.returns_cas || command.dialect == Dialect::kBinary;
}

Outcome ReadCas(const MemcachedTarget& target, engine::Session& session, uint64_t* cas) {
  CasReader taker(target, cas);
  model::Request request;
  request.find.key = target.parts;
  request.find.key_parts_given = static_cast<uint32_t>(target.parts.size());
  request.relaxed = target.container->relaxed;
  return session.Execute(*target.container->full_index, request, taker);
}

void MarkRead(const Command& command, int64_t now_ms, MemcachedMark* mark) {
  if (!TellsAccess(command) || command.meta.no_update) return;
  mark->was_read = true;
  mark->read_ms = now_ms;
}

bool TellsMarks(const MemcachedShared& shared, const Command& command) {
  return command.dialect == Dialect::kMeta && (!shared.marks.empty() || AsksForMarks(command));
}

Outcome ExecuteGet(MemcachedShared& shared, MemcachedWork& work, const model::Account* account,
                   engine::Session& session, base::Buffer& out) {
  const size_t out_bytes_max = out.size() + shared.settings.limits.reply_bytes_max;
  size_t bytes_read = 0;
  MemcachedTally& tally = work.tally;
  Outcome all;
  const bool asks_for_cas = AsksForCas(work.command);
  const bool has_cas = asks_for_cas || TellsMarks(shared, work.command);
  model::Request request;
  for (MemcachedTarget& target : work.targets) {
    bool hit = false;
    if (target.wrong == MemcachedTarget::Wrong::kNothing) {
      const keyspace::Container& container = *target.container;
      engine::Index& index = has_cas ? *container.full_index : *container.get_index;
      HitWriter writer(shared, work, target, has_cas, out_bytes_max, out);
      request.find.key = target.parts;
      request.find.key_parts_given = static_cast<uint32_t>(target.parts.size());
      request.account = account;
      Outcome outcome;
      if (has_cas && !asks_for_cas && account != nullptr) {
        // The cas is read only because of another client's mark, so this client needs no right to
        // read it.
        outcome = session.MayExecute(*container.get_index, request);
        request.account = nullptr;
      }
      if (outcome.ok()) outcome = session.Execute(index, request, writer);
      if (!outcome.ok()) return outcome;
      bytes_read += writer.bytes_read();
      hit = writer.hit();
      tally.expired += writer.expired();
      all.rows += hit;
    }
    target.was_hit = hit;
    tally.hits += hit;
    tally.misses += !hit;
    if (!hit) memcached::AppendMiss(work.command, target.key, &out);
    if (out.size() > out_bytes_max) return Outcome::Fail(model::ErrorCode::kResultsize);
    if (bytes_read > BytesReadMax(shared)) {
      work.failure = kReadsTooMuch;
      return Outcome::Fail(model::ErrorCode::kResultsize);
    }
  }
  memcached::AppendGetEnd(work.command, &out);
  return all;
}

// Marks are kept apart from rows: the cas of the row shows whether a mark still belongs to it.
void TellMarks(MemcachedShared& shared, const MemcachedWork& work, const MemcachedTarget& target,
               MemcachedMoment moment, memcached::Item* item) {
  const int64_t now_ms = moment.now_ms;
  const memcached::MetaFlags& meta = work.command.meta;
  const bool renews = meta.has_recache && moment.ttl_s >= 0 && moment.ttl_s < meta.recache_s;
  const bool tells_all = work.command.verb == memcached::Verb::kMetaDebug;
  const auto tell = [&](MemcachedMark& mark) {
    item->stale = mark.stale;
    item->was_fetched = mark.was_read;
    const bool has_won_before = mark.promised && mark.winner == work.serial;
    const bool may_win = !mark.promised || has_won_before;
    item->won_by_other = !may_win;
    // `me` promises nothing, because its reply does not tell the client that it has won.
    item->won = !tells_all && may_win && (mark.stale || renews || has_won_before);
    if (item->won) {
      mark.promised = true;
      mark.winner = work.serial;
    }
    if (TellsAccess(work.command) || tells_all) {
      // For an item that no meta get has read, the time since it was written is answered, if known.
      const bool is_time = target.container->cas_kind == keyspace::CasKind::kTime;
      const int64_t written_ms =
          is_time ? static_cast<int64_t>(item->cas / 1000) - shared.keyspaces->UtcOffsetMs()
                  : now_ms;
      const int64_t since_ms = now_ms - (mark.was_read ? mark.read_ms : written_ms);
      item->last_access_s = static_cast<uint32_t>(since_ms > 0 ? since_ms / 1000 : 0);
      MarkRead(work.command, now_ms, &mark);
    }
  };
  const bool cas_grows = target.container->cas_kind != keyspace::CasKind::kHash;
  shared.marks.With(target.container->state->serial, target.row_key, item->cas, cas_grows, tell);
}

}  // namespace rowsocket::frontend
