#include "exec/commit_board.h"

#include <algorithm>

#include "exec/turn.h"
#include "exec/unit.h"

namespace rowsocket::exec {

void CommitBoard::Enter(CommitUnderWay& commit, std::span<const TurnItem> items) {
  const base::MutexLock lock(mutex_);
  commit.number = ++last_;
  commit.items = items;
  commits_.push_back(&commit);
  oldest_.store(commits_.front()->number, std::memory_order_release);
}

void CommitBoard::Leave(CommitUnderWay& commit) {
  const base::MutexLock lock(mutex_);
  std::erase(commits_, &commit);
  oldest_.store(commits_.empty() ? kNone : commits_.front()->number, std::memory_order_release);
  commit.items = {};
  commit.writes.Clear();
  commit.has_writes = false;
  std::erase_if(watchers_, [this](const auto& each) {
    if (!HasEnded(each.first)) return false;
    each.second->CommitsEnded();
    return true;
  });
}

void CommitBoard::Forget(Watcher& watcher) {
  const base::MutexLock lock(mutex_);
  std::erase_if(watchers_, [&watcher](const auto& each) { return each.second == &watcher; });
}

// The mutex keeps commits from ending while the finds are compared with them, so that none is
// missed.
uint64_t CommitBoard::MarkBeside(std::span<TurnItem> finds, engine::Session& session,
                                 Watcher& watcher) {
  const base::MutexLock lock(mutex_);
  if (commits_.empty()) return 0;
  for (CommitUnderWay* commit : commits_) {
    if (!commit->has_writes) CollectWrites(*commit, session);
  }
  bool marks = false;
  for (const TurnItem& item : finds) {
    const bool has_found = item.item.kind == Item::Kind::kRequest && item.is_answered();
    if (!has_found || !MayConcern(item)) continue;
    item.client->NoteUndurable();
    marks = true;
  }
  if (!marks) return 0;
  const std::pair watched(commits_.back()->number, &watcher);
  if (watchers_.empty() || watchers_.back() != watched) watchers_.push_back(watched);
  return watched.first;
}

bool CommitBoard::MayConcern(const TurnItem& find) {
  const Frontend& frontend = *find.client->frontend;
  return std::any_of(commits_.begin(), commits_.end(), [&](const CommitUnderWay* commit) {
    return frontend.MayConcern(find.item, commit->writes);
  });
}

void CommitBoard::CollectWrites(CommitUnderWay& commit, engine::Session& session) {
  std::vector<std::pair<engine::Index*, KeyColumns>> keys;
  const auto add = [&](engine::Index* index, const model::Request& request) {
    auto key = std::find_if(keys.begin(), keys.end(),
                            [index](const auto& each) { return each.first == index; });
    if (key == keys.end()) {
      engine::IndexFacts facts;
      const bool is_known = session.InspectAtOnce(*index, &facts).ok();
      key = keys.emplace(key, index, is_known ? KeyColumns(*index, facts) : KeyColumns());
    }
    commit.writes.Add(*index, request, key->second);
  };
  for (const TurnItem& item : commit.items) {
    if (!item.is_write()) continue;
    if (item.item.unit == nullptr) {
      add(item.item.index, item.item.request);
    } else {
      for (const UnitRequest& one : item.item.unit->requests) {
        if (one.request.is_write()) add(one.index, one.request);
      }
    }
    if (item.item.is_composite) item.client->frontend->AddWrites(item.item, commit.writes);
  }
  commit.has_writes = true;
}

}  // namespace rowsocket::exec
