// Whether InnoDB takes no writes at all, which neither read_only nor super_read_only says.
#pragma once

namespace rowsocket::engine::server {

/// Whether InnoDB was started so that it refuses every write: innodb_read_only, or so high a value
/// of innodb_force_recovery. It does not change while the server runs. Any thread; InnoDB has
/// started.
bool InnodbIsReadOnly();

}  // namespace rowsocket::engine::server
