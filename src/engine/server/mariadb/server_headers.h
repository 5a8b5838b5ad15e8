// The server's private headers in the order in which they compile. The build precompiles them: they
// take most of the time of compiling a file that includes them.
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
// The order matters.
// clang-format off
#include <my_global.h>

#include <mysql_version.h>
#include <mysql/plugin.h>
#include <sql_priv.h>
#include <sql_class.h>
#include <unireg.h>
#include <lock.h>
#include <key.h>
#include <sql_base.h>
#include <sql_acl.h>
#include <sql_cache.h>
#include <sql_insert.h>
#include <sql_parse.h>
#include <sql_table.h>
#include <sql_trigger.h>
#include <sql_update.h>
#include <table_cache.h>
#include <tztime.h>
#include <transaction.h>
#include <log.h>
#include <mysqld.h>
#include <rpl_mi.h>
#include <semisync_master.h>
#include <set_var.h>
#include <slave.h>
#include <sql_i_s.h>
#include <sql_show.h>
#include <sql_audit.h>
#include <partition_info.h>
#include <ha_partition.h>
// clang-format on
#pragma GCC diagnostic pop
