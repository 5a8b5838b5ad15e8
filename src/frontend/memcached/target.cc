#include "frontend/memcached/target.h"

namespace rowsocket::frontend {

using keyspace::Container;
using Wrong = MemcachedTarget::Wrong;

namespace {

constexpr std::string_view kPrefix = "@@";

/// Takes the container's name off the key.
std::string_view TakeName(std::string_view* rest, std::string_view delimiter,
                          MemcachedTarget* target) {
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

void Resolve(std::string_view key, const keyspace::Snapshot& snapshot, const Container* standard,
             base::Arena& arena, MemcachedTarget* target) {
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
  if (!keyspace::ParseRowKey(rest, *container, arena, target)) target->wrong = Wrong::kNoSuchKey;
}

std::string Explain(const MemcachedTarget& target, const keyspace::Snapshot& snapshot) {
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
