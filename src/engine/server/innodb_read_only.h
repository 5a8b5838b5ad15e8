// Whether InnoDB takes no writes at all, which neither read_only nor super_read_only says.
#pragma once

namespace rowsocket::engine::server {

/// Whether InnoDB was started so that it refuses every write: with innodb_read_only, or with a high
/// value of innodb_force_recovery. The answer does not change while the server runs. Any thread.
/// REQUIRES: InnoDB has started.
bool InnodbIsReadOnly();

}  // namespace rowsocket::engine::server
