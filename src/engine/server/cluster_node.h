// Which node of a Galera cluster this server is, and what that means for its health. Members of
// group replication need nothing here, because those that may not write are read only: for them,
// each answer is no. One .cc for each family of servers: its cluster.cc.
//
// Threads: any. No function waits for a lock that a statement holds.
#pragma once

#include "model/health.h"

namespace rowsocket::engine::server {

/// Whether the server is a node of a Galera cluster: its provider is loaded, and the global
/// wsrep_on is ON.
bool IsClusterNode();

/// Whether this server does the work that one node of its cluster does for all: it is the first of
/// the nodes that see each other and have a majority.
bool IsFirstClusterNode();

/// Whether the calling thread executes DDL in the order of the cluster (TOI, RSU), here or as a
/// statement of another node. Commits that are ordered after the DDL end only when it has ended.
bool HoldsClusterOrder();

/// Adds the state of the node to the health, with whether the cluster lets it read and write.
void AddClusterNode(model::Health* health);

}  // namespace rowsocket::engine::server
