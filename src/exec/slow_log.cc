#include "exec/slow_log.h"

#include <chrono>
#include <new>
#include <utility>

#include "exec/address_text.h"
#include "exec/connection_book.h"
#include "exec/request_text.h"
#include "exec/unit.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// Bytes that could end a comment, or a line of the log, are replaced.
std::string Printable(std::string text) {
  for (char& byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code == 0x7f || byte == '*' || byte == '/') byte = '_';
  }
  return text;
}

}  // namespace

void SlowLog::AddSlow(const std::vector<TurnItem>& items, int64_t sent_ns, engine::Session& session,
                      StatBlock& stats) {
  size_t count = 0;
  for (const TurnItem& item : items) {
    const int64_t whole_us = (sent_ns - item.client->since_ns) / 1000;
    const bool is_slow =
        item.is_finished && item.item.kind == Item::Kind::kRequest && whole_us >= session.slow_us();
    if (!is_slow) continue;
    stats.Add(Stat::kSlowRequests);
    if (++count > model::kSlowOfTurnMax) continue;
    Add(item.item, *item.client->frontend, {whole_us, 0}, item.rows, session);
  }
}

void SlowLog::AddWaited(const Item& item, const TurnClient& client, int64_t lock_ns,
                        int64_t sent_ns, uint64_t rows, engine::Session& session,
                        StatBlock& stats) {
  const int64_t whole_us = (sent_ns - client.since_ns) / 1000;
  if (item.kind != Item::Kind::kRequest || whole_us < session.slow_us()) return;
  stats.Add(Stat::kSlowRequests);
  Add(item, *client.frontend, {whole_us, lock_ns / 1000}, rows, session);
}

void SlowLog::Add(const Item& item, const Frontend& frontend, const Times& times, uint64_t rows,
                  engine::Session& session) {
  try {
    SlowEntry entry;
    entry.began_s = UnixSeconds() - times.whole_us / 1'000'000;
    entry.whole_us = static_cast<uint64_t>(times.whole_us);
    entry.verb = verb_name_(item.verb);
    entry.text = TextOf(item, frontend, shows_values_());
    entry.address = ConnectionBook::Shared().AddressOf(frontend.connection_id());
    entry.name = frontend.name();
    std::string comment = " /* " + plugin_ + " " + entry.verb + ", connection " +
                          std::to_string(frontend.connection_id());
    if (!entry.name.empty()) comment += ", " + Printable(entry.name);
    const std::string text = entry.text + comment + " */";
    engine::SlowRequest request;
    request.text = text;
    if (frontend.account() != nullptr) request.user = frontend.account()->user();
    request.address = HostOf(entry.address);
    request.schema = item.index->names().db;
    request.began_s = entry.began_s;
    request.whole_us = entry.whole_us;
    request.lock_us = static_cast<uint64_t>(times.lock_us);
    request.rows = rows;
    request.writes = item.unit != nullptr ? item.unit->writes : item.request.is_write();
    session.LogSlow(request);
    Keep(std::move(entry));
  } catch (const std::bad_alloc&) {  // The request is counted, and not shown.
  }
}

void SlowLog::Keep(SlowEntry entry) {
  const base::MutexLock lock(mutex_);
  entry.number = next_++;
  kept_.push_back(std::move(entry));
  if (kept_.size() > model::kSlowKeptMax) kept_.pop_front();
}

std::vector<SlowEntry> SlowLog::Last(size_t count) const {
  const base::MutexLock lock(mutex_);
  std::vector<SlowEntry> last;
  for (auto entry = kept_.rbegin(); entry != kept_.rend() && last.size() < count; ++entry) {
    last.push_back(*entry);
  }
  return last;
}

size_t SlowLog::size() const {
  const base::MutexLock lock(mutex_);
  return kept_.size();
}

void SlowLog::Clear() {
  const base::MutexLock lock(mutex_);
  kept_.clear();
}

}  // namespace rowsocket::exec
