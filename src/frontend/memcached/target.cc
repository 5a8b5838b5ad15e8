#include "frontend/memcached/target.h"

#include "frontend/memcached/containers/codec.h"

namespace rowsocket::frontend {

using containers::Container;
using containers::KeyPart;
using Wrong = Target::Wrong;

namespace {

constexpr std::string_view kPrefix = "@@";

/// Whether an integer is written as its column shows it, so that no two keys mean the same row.
bool IsCanonicalInteger(std::string_view text) {
  if (text.starts_with('-'))
    text.remove_prefix(1);
  else if (text == "0")
    return true;
  if (text.empty() || text[0] == '0') return false;
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool CanBeKey(const model::Value& value, const KeyPart& part) {
  if (value.is_null()) return false;
  const std::string_view text = value.text();
  if (part.is_integer) return IsCanonicalInteger(text);
  return !(part.pads && text.ends_with(' '));
}

/// Takes the container's name off the key.
std::string_view TakeName(std::string_view* rest, std::string_view delimiter, Target* target) {
  std::string_view name = rest->substr(kPrefix.size());
  const size_t end = name.find(delimiter);
  if (end == std::string_view::npos) {
    target->is_container_only = true;
    *rest = {};
    return name;
  }
  *rest = name.substr(end + delimiter.size());
  return name.substr(0, end);
}

}  // namespace

void Resolve(std::string_view key, const containers::Snapshot& snapshot, const Container* standard,
             base::Arena& arena, Target* target) {
  target->key = key;
  target->container = standard;
  std::string_view rest = key;
  if (key.starts_with(kPrefix)) {
    target->name = TakeName(&rest, snapshot.config.options.delimiter, target);
    target->container = snapshot.Find(target->name);
  }
  target->row_key = rest;
  const Container* container = target->container;
  if (container == nullptr || !container->usable()) {
    target->wrong = container == nullptr ? Wrong::kNoContainer : Wrong::kUnusable;
    return;
  }
  if (target->is_container_only) return;
  const std::span<model::Value> columns = arena.Allocate<model::Value>(container->key.size());
  if (columns.size() == 1) {
    columns[0] = model::Value(rest);
  } else if (!containers::SplitColumns(rest, container->separator, arena, columns)) {
    target->wrong = Wrong::kNoSuchKey;
    return;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!CanBeKey(columns[i], container->key[i])) target->wrong = Wrong::kNoSuchKey;
  }
  target->columns = target->parts = columns;
  if (columns.size() == 1) return;
  const std::span<model::Value> parts = arena.Allocate<model::Value>(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) parts[container->key[i].index_part] = columns[i];
  target->parts = parts;
}

std::string Explain(const Target& target, const containers::Snapshot& snapshot) {
  switch (target.wrong) {
    case Wrong::kNothing:
      return {};
    case Wrong::kNoContainer:
      if (!snapshot.config.problem.empty()) return snapshot.config.problem;
      if (snapshot.containers.empty()) return "innodb_memcache.containers is empty";
      return "there is no container " + std::string(target.name);
    case Wrong::kUnusable:
      return "container " + target.container->name() + " is disabled: " + target.container->problem;
    case Wrong::kNoSuchKey:
      return "the key columns of container " + target.container->name() +
             " cannot hold this key as it is";
  }
  return {};
}

}  // namespace rowsocket::frontend
