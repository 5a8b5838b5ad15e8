// Helpers for tests of what is counted of turns: clients with an account that send nothing, and a
// way to fill a turn with items.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/turn.h"

namespace rowsocket::exec {

class SilentFrontend final : public Frontend {
 public:
  Step Parse(std::string_view, bool, base::Arena&, Item*) override { return {}; }
  void Rewind() override {}
  size_t input_bytes_max() const override { return 1; }
  bool authenticated() const override { return true; }
  void Opened(Item&, const engine::Outcome&, std::shared_ptr<engine::Index>) override {}
  engine::Outcome Execute(const Item&, engine::Session&, base::Buffer&) const override {
    return {};
  }
  bool MayConcern(const Item&, const WriteSet&) const override { return true; }
  void Reply(const Item&, base::Buffer&) const override {}
  void ReplyError(const Item&, model::Error, base::Buffer&) const override {}
};

inline TurnClient ClientOf(SilentFrontend& frontend) {
  TurnClient client;
  client.frontend = &frontend;
  return client;
}

/// Puts `items`, as they are, in place of those of `turn`.
inline void Fill(Turn* turn, const std::vector<TurnItem>& items) {
  turn->Clear();
  for (const TurnItem& item : items) {
    turn->items().push_back(item);
    turn->Added();
  }
}

}  // namespace rowsocket::exec
