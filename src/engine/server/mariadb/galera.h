// What only MariaDB's own files call for a THD in Galera; cluster.h has what all servers have.
//
// Flow, as a grammar: JoinGalera { turn } LeaveGalera, where a turn calls AppendChildren and
// CollectsRowEvents. If there is no cluster each call is one look at a flag.
//
// Threads: the session's own.
// Source of the order of calls: as in cluster.h.
#pragma once

#include "api.h"

namespace rowsocket::engine::server {

struct OpenTable;

/// Makes a new THD a client of the provider. LeaveGalera ends that before the THD is cleaned up.
void JoinGalera(THD* thd);
void LeaveGalera(THD* thd);

/// Names the tables that refer to a written table to the provider, so that DDL of another node that
/// changes them conflicts with the write. False with an error on the THD.
bool AppendChildren(THD* thd, const OpenTable& open);
/// Whether row events are collected for a writeset although there is no binary log.
bool CollectsRowEvents(THD* thd);

}  // namespace rowsocket::engine::server
