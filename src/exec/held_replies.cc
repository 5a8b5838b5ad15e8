#include "exec/held_replies.h"

namespace rowsocket::exec {

// The lane has executed another find of a client that is held already: the client then waits for
// the later of the two commits.
void HeldReplies::Hold(Client& client, uint64_t commit) {
  if (client.is_held()) Drop(client);
  held_.emplace_back(commit, &client);
  client.SetAway(client.is_in_lane() ? Away::kHeldInLane : Away::kHeld);
}

Client* HeldReplies::Next() {
  if (held_.empty() || !commits_.HasEnded(held_.front().first)) return nullptr;
  Client* const client = held_.front().second;
  held_.pop_front();
  client->SetAway(client->is_in_lane() ? Away::kInLane : Away::kNo);
  return client;
}

void HeldReplies::Drop(const Client& client) {
  std::erase_if(held_, [&client](const auto& each) { return each.second == &client; });
}

void HeldReplies::Close() {
  held_.clear();
  commits_.Forget(*this);
}

}  // namespace rowsocket::exec
