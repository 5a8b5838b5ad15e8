// How this server and others copy each other's changes.
//
// Threads: any.
#pragma once

namespace rowsocket::engine::server {

/// Whether a replication source is configured (CHANGE MASTER), also where its threads are stopped.
/// RESET SLAVE ALL removes it.
bool HasReplicationSource();

/// Whether the server is a node of a Galera cluster: its provider is loaded, and the global
/// wsrep_on is ON.
bool IsGaleraNode();

/// Whether this server does the work that one node of its cluster does for all: it is the first of
/// the nodes that see each other and have a majority.
bool IsFirstGaleraNode();

}  // namespace rowsocket::engine::server
