// Which node of its cluster this server is, and what that means for its health and for the work
// that one node does for all. Group replication needs only the second: a member that may not write
// is read only, which the server says itself. One .cc for each family of servers: its cluster.cc.
//
// Threads: any. No function waits for a lock that a statement holds.
#pragma once

#include "engine/no_housekeeping.h"
#include "model/health.h"

namespace rowsocket::engine::server {

/// Whether the server is a node of a Galera cluster: its provider is loaded, and the global
/// wsrep_on is ON.
bool IsClusterNode();

/// Why this server does not do the work that one node of its cluster does for all. No reason: it is
/// that node, or in no cluster.
NoHousekeeping WhyNoHousekeepingInCluster();

/// Whether the calling thread executes DDL in the order of the cluster (TOI, RSU), here or as a
/// statement of another node. Commits that are ordered after the DDL end only when it has ended.
bool HoldsClusterOrder();

/// Adds the state of the node to the health, with whether the cluster lets it read and write.
void AddClusterNode(model::Health* health);

}  // namespace rowsocket::engine::server
