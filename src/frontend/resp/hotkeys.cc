// HOTKEYS, in the form that Valkey documents: the most requested keys.
#include <algorithm>
#include <string>

#include "base/clock.h"
#include "exec/hot_rows.h"
#include "frontend/resp/command.h"
#include "frontend/resp/monitor.h"
#include "keyspace/config.h"

namespace rowsocket::frontend {

namespace {

struct HotKey {
  std::string key;
  int64_t database = 0;
};

/// The parts of a row's key as clients write them: with a colon between parts, and a backslash
/// before a colon inside a part.
std::string Joined(std::string_view parts) {
  std::string text;
  for (const char byte : parts) {
    if (byte == ':' || byte == '\\') text += '\\';
    text += byte == ',' ? ':' : byte;
  }
  return text;
}

/// Whether an opened index is that of a keyspace. A prefix that names no index has PRIMARY.
bool IsIndex(std::string_view wanted, std::string_view index) {
  return wanted.empty() ? index == "PRIMARY" : wanted == index;
}

/// The keyspace that has the row; null: none.
const keyspace::KeyspaceDefinition* KeyspaceOf(const exec::HotRowName& row,
                                               const keyspace::Snapshot& snapshot) {
  for (const keyspace::KeyspaceDefinition& keyspace : snapshot.config.keyspaces) {
    if (keyspace.kind == keyspace::KeyspaceDefinition::Kind::kRow) {
      const bool is_it = keyspace.db == row.schema && keyspace.table == row.table;
      if (is_it && IsIndex(keyspace.index, row.index)) return &keyspace;
      continue;
    }
    const keyspace::Container* const container = snapshot.Find(keyspace.container);
    if (container == nullptr) continue;
    const keyspace::ContainerDefinition& definition = container->definition;
    if (definition.db == row.schema && definition.table == row.table) return &keyspace;
  }
  return nullptr;
}

/// The key by which clients of RESP ask for the row. Which commas of the row's text separate parts
/// is a guess.
HotKey HotKeyOf(const exec::HotRowName& row, std::string_view schema,
                const keyspace::Snapshot* snapshot) {
  HotKey hot;
  if (row.schema == keyspace::kRowsocketSchema && row.table == keyspace::kStoreTable) {
    // The primary key of rowsocket.store is (database, key).
    const size_t comma = std::min(row.key.find(','), row.key.size());
    const std::string database = row.key.substr(0, comma);
    const bool is_short = !database.empty() && database.size() < 3;
    if (is_short) hot.database = std::atoll(database.c_str());
    hot.key = is_short ? row.key.substr(std::min(comma + 1, row.key.size())) : row.key;
    return hot;
  }
  std::string parts = row.key;
  const keyspace::KeyspaceDefinition* const keyspace =
      snapshot != nullptr ? KeyspaceOf(row, *snapshot) : nullptr;
  if (keyspace != nullptr && keyspace->kind == keyspace::KeyspaceDefinition::Kind::kValue) {
    std::replace(parts.begin(), parts.end(), ',', snapshot->config.options.separator);
    hot.key = keyspace->prefix + parts;
    return hot;
  }
  parts = Joined(parts);
  if (keyspace != nullptr) {
    hot.key = keyspace->prefix + parts;
    return hot;
  }
  if (row.schema != schema) hot.key = row.schema + '.';
  hot.key += row.table;
  if (row.index != "PRIMARY") hot.key += '@' + row.index;
  hot.key += ':' + parts;
  return hot;
}

}  // namespace

void RespMonitor::AppendHotkeys(RespArguments arguments, const model::Account* account,
                                const keyspace::Snapshot* keyspaces, resp::Version version,
                                base::Buffer& out) const {
  const std::string_view what = arguments[1];
  if (IsWord(what, "start") || IsWord(what, "stop")) {
    return resp::AppendError(
        "NOTSERVED HOTKEYS START and STOP measure CPU and bytes of keys, which nobody counts here: "
        "requests are counted, always, and HOTKEYS GET answers as Valkey's",
        &out);
  }
  const bool is_reset = IsWord(what, "reset");
  if ((!is_reset && !IsWord(what, "get")) || arguments.size() != 2) {
    return resp::AppendError("ERR unknown subcommand or wrong number of arguments for '" +
                                 std::string(what.substr(0, 64)) + "'. Try HOTKEYS GET or RESET.",
                             &out);
  }
  if (is_reset) {
    // An account may not clear what others look at.
    if (account != nullptr) {
      return resp::AppendError(
          "NOPERM HOTKEYS RESET is for connections with all rights: this one has an account's "
          "(resp_accounts, resp_user)",
          &out);
    }
    if (shared_.hot_rows != nullptr) shared_.hot_rows->Clear();
    return resp::AppendSimple("OK", &out);
  }
  exec::HotRows::Rows rows;
  if (shared_.hot_rows != nullptr) rows = shared_.hot_rows->OfLastSlice(base::CoarseNowMs());
  constexpr uint64_t kSeconds = exec::HotRows::kSliceMs / 1000;
  resp::AppendArray(rows.size(), &out);
  for (const auto& [name, counts] : rows) {
    // Keys are shown only to clients that may read all tables. The rights of an account cannot be
    // looked up here, so a connection with an account sees hashes.
    const HotKey hot = account == nullptr ? HotKeyOf(name, shared_.schema, keyspaces)
                                          : HotKey{exec::HiddenKey(name), 0};
    resp::AppendMap(3, version, &out);
    resp::AppendBulk("key", &out);
    resp::AppendBulk(hot.key, &out);
    resp::AppendBulk("db", &out);
    resp::AppendInteger(hot.database, &out);
    resp::AppendBulk("qps", &out);
    resp::AppendInteger(static_cast<int64_t>((counts.requests + kSeconds - 1) / kSeconds), &out);
  }
}

}  // namespace rowsocket::frontend
