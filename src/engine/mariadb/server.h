// The server's private headers in the order in which they compile, and nothing else.
//
// Every other file of this folder and of plugin/ includes the server through this one, so that
// what differs between server versions has one place.
#pragma once

#ifndef MYSQL_SERVER
#define MYSQL_SERVER 1
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wdeprecated-enum-enum-conversion"
#pragma GCC diagnostic ignored "-Wdeprecated-copy"
#pragma GCC diagnostic ignored "-Wvolatile"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
#include <key.h>
#include <lock.h>
#include <log.h>
#include <my_global.h>
#include <mysql/plugin.h>
#include <mysql_version.h>
#include <mysqld.h>
#include <partition_info.h>
#include <semisync_master.h>
#include <set_var.h>
#include <sql_audit.h>
#include <sql_base.h>
#include <sql_cache.h>
#include <sql_class.h>
#include <sql_insert.h>
#include <sql_parse.h>
#include <sql_priv.h>
#include <sql_table.h>
#include <sql_trigger.h>
#include <sql_update.h>
#include <table_cache.h>
#include <transaction.h>
#include <tztime.h>
#include <unireg.h>
#pragma GCC diagnostic pop

// The server's macros would break the standard library's names.
#undef min
#undef max
#undef test
#undef swap
