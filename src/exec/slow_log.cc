#include "exec/slow_log.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "exec/address_text.h"
#include "exec/connection_book.h"
#include "exec/request_text.h"
#include "exec/unit.h"
#include "model/limits.h"

namespace rowsocket::exec {

namespace {

/// Longer than any request takes, and small enough that its nanoseconds fit into an int64_t.
constexpr int64_t kSlowUsMax = INT64_MAX / 4000;

/// Bytes that could end a comment, or a line of the log, are replaced.
std::string InComment(std::string text) {
  for (char& byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code == 0x7f || byte == '*' || byte == '/') byte = '_';
  }
  return text;
}

}  // namespace

void SlowLog::NoteTurn(const ItemRuns& runs, const std::vector<TurnItem>& items,
                       int64_t answered_ns, int64_t slow_us, StatBlock& stats,
                       std::vector<Noted>* noted) const {
  const int64_t slow_before_ns = answered_ns - std::min(slow_us, kSlowUsMax) * 1000;
  if (runs.oldest_ns() > slow_before_ns) [[likely]]
    return;
  size_t count = 0;
  for (const TurnItem& item : items) {
    if (item.client->since_ns > slow_before_ns) continue;
    if (!item.is_finished() || item.item.kind != Item::Kind::kRequest) continue;
    const int64_t whole_us = (answered_ns - item.client->since_ns) / 1000;
    stats.Add(Stat::kSlowRequests);
    if (++count > model::kSlowOfTurnMax) continue;
    const int64_t lock_us = item.input_begin == 0 ? item.client->lock_ns / 1000 : 0;
    Note(item.item, *item.client->frontend, {whole_us, lock_us}, {item.rows, item.rows_passed},
         noted);
  }
}

void SlowLog::NoteWaited(const Item& item, const TurnClient& client, const Waited& waited,
                         int64_t slow_us, StatBlock& stats, std::vector<Noted>* noted) const {
  const int64_t whole_us = (waited.sent_ns - client.since_ns) / 1000;
  if (item.kind != Item::Kind::kRequest || whole_us < slow_us) return;
  stats.Add(Stat::kSlowRequests);
  if (noted->size() >= model::kSlowOfTurnMax) return;
  const engine::Outcome& outcome = waited.outcome;
  Note(item, *client.frontend, {whole_us, waited.lock_ns / 1000},
       {outcome.rows, outcome.rows_passed}, noted);
}

// Requests that were slow before their replies were held are noted already.
void SlowLog::NoteHeld(const TurnClient& client, int64_t sent_ns, int64_t slow_us, StatBlock& stats,
                       std::vector<Noted>* noted) const {
  const int64_t whole_us = (sent_ns - client.since_ns) / 1000;
  const int64_t before_us = (client.held_from_ns - client.since_ns) / 1000;
  if (client.held_items == 0 || whole_us < slow_us || before_us >= slow_us) [[likely]]
    return;
  stats.Add(Stat::kSlowRequests, client.held_items);
  try {
    const std::string text = "SELECT '" + std::to_string(client.held_items) +
                             " replies held for commits of other connections'";
    noted->push_back(MakeNoted(client.held_verb, *client.frontend, {whole_us, 0}, text));
  } catch (const std::bad_alloc&) {  // The requests are counted, and not shown.
  }
}

SlowLog::Noted SlowLog::MakeNoted(uint32_t verb, const Frontend& frontend, const Times& times,
                                  std::string text) const {
  Noted one;
  SlowEntry& entry = one.entry;
  entry.began_s = base::CalendarSeconds() - times.whole_us / 1'000'000;
  entry.whole_us = static_cast<uint64_t>(times.whole_us);
  entry.verb = verb_name_(verb);
  entry.text = std::move(text);
  entry.address = ConnectionBook::Shared().AddressOf(frontend.connection_id());
  entry.name = frontend.name();
  std::string comment = " /* " + plugin_ + " " + entry.verb + ", connection " +
                        std::to_string(frontend.connection_id());
  if (!entry.name.empty()) comment += ", " + InComment(entry.name);
  one.text = entry.text + comment + " */";
  if (frontend.account() != nullptr) one.user = frontend.account()->user();
  one.lock_us = static_cast<uint64_t>(times.lock_us);
  return one;
}

void SlowLog::Note(const Item& item, const Frontend& frontend, const Times& times, const Rows& rows,
                   std::vector<Noted>* noted) const {
  try {
    Noted one = MakeNoted(item.verb, frontend, times, TextOf(item, frontend, shows_values_()));
    one.schema = item.index->names().db;
    one.rows = rows.done;
    // The first row of a scan is read after no other row.
    one.examined = rows.passed == 0 ? rows.done : std::max(rows.done, rows.passed + 1);
    one.writes = item.unit != nullptr ? item.unit->writes : item.request.is_write();
    noted->push_back(std::move(one));
  } catch (const std::bad_alloc&) {  // The request is counted, and not shown.
  }
}

void SlowLog::Write(std::vector<Noted>* noted, engine::Session& session) {
  for (Noted& one : *noted) {
    engine::SlowRequest request;
    request.text = one.text;
    request.user = one.user;
    request.address = HostOf(one.entry.address);
    request.schema = one.schema;
    request.began_s = one.entry.began_s;
    request.whole_us = one.entry.whole_us;
    request.lock_us = one.lock_us;
    request.rows = one.rows;
    request.examined = one.examined;
    request.writes = one.writes;
    try {
      session.LogSlow(request);
      Keep(std::move(one.entry));
    } catch (const std::bad_alloc&) {  // The log lacks an entry; the request is answered all the
                                       // same.
    }
  }
  noted->clear();
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
