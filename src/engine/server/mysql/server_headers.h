// The server's private headers, which the build precompiles: they take most of the time of
// compiling a file that includes them.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <my_config.h>
#include <mysql/plugin.h>
#include <mysql_version.h>
#include <mysqld_error.h>

#include "my_time.h"
#include "myisampack.h"
#include "mysql/psi/mysql_thread.h"
#include "sql-common/json_dom.h"
#include "sql/auth/auth_common.h"
#include "sql/binlog.h"
#include "sql/conn_handler/connection_handler_manager.h"
#include "sql/current_thd.h"
#include "sql/dd/types/abstract_table.h"
#include "sql/dd/types/foreign_key.h"
#include "sql/derror.h"
#include "sql/error_handler.h"
#include "sql/field.h"
#include "sql/handler.h"
#include "sql/item.h"
#include "sql/key.h"
#include "sql/lock.h"
#include "sql/log.h"
#include "sql/mysqld.h"
#include "sql/mysqld_thd_manager.h"
#include "sql/rpl_handler.h"
#include "sql/rpl_mi.h"
#include "sql/rpl_msr.h"
#include "sql/set_var.h"
#include "sql/sql_base.h"
#include "sql/sql_check_constraint.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_foreign_key_constraint.h"
#include "sql/sql_insert.h"
#include "sql/sql_lex.h"
#include "sql/sql_parse.h"
#include "sql/sql_plugin.h"
#include "sql/sql_table.h"
#include "sql/sql_thd_internal_api.h"
#include "sql/sql_time.h"
#include "sql/sql_update.h"
#include "sql/strfunc.h"
#include "sql/sys_vars_shared.h"
#include "sql/table.h"
#include "sql/table_trigger_dispatcher.h"
#include "sql/transaction.h"
#include "sql/tztime.h"
#pragma GCC diagnostic pop
