#include "net/gated_output.h"

#include <algorithm>

namespace rowsocket::net {

void GatedOutput::OpenGateUpTo(Position position) {
  assert(position <= End());
  // The batch that ends at `position` holds the last write only if that write began before it: a
  // write that begins exactly there belongs to the next batch.
  if (!held() || position > last_hold_) return OpenGate();
  held_from_ = std::max(held_from_, position);
  released_ = held_from_;
  Check();
}

void GatedOutput::DropBehind(Position position) {
  assert(position >= released_ && position <= End());
  bytes_.Truncate(position - front_);
  if (held()) last_hold_ = std::min(last_hold_, position);
  Check();
}

}  // namespace rowsocket::net
