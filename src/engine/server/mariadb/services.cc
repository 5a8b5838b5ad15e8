// The server's headers call some functions of the server through pointers, its services. The server
// fills these by name in the plugin file that it opens, if their versions are its own. In a package
// that file is the loader, which serves several versions of the server. So the pointers are set
// here instead, to the functions of the server that the library was built for, and are not
// exported.
//
// Without this macro the headers declare the functions themselves.
#undef MYSQL_DYNAMIC_PLUGIN
#include "api.h"

namespace {
my_print_error_service_st print_error = {my_error, my_printf_error, my_printv_error};
kill_statement_service_st kill_statement = {thd_kill_level};
}  // namespace

extern "C" {
my_print_error_service_st* my_print_error_service = &print_error;
kill_statement_service_st* thd_kill_statement_service = &kill_statement;
}
