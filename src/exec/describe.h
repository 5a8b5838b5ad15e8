// What a thread of the library shows of itself in the process list.
#pragma once

#include <new>

#include "engine/session.h"

namespace rowsocket::exec {

/// Shows the text that `make_text` returns. If there is no memory for the text, the list goes on
/// showing the last one.
template <typename MakeText>
void DescribeSession(engine::Session& session, MakeText make_text) {
  try {
    session.Describe(make_text());
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace rowsocket::exec
