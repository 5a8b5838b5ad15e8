"""What cannot be looked at: plugins that did not start, and parts of a reading that failed."""
from rowsocket_observe import replicas
from rowsocket_observe.reading import PLUGINS

MAKE_ROOM = "if there is no room for it: df -h on tmpdir, in which the server keeps temporary tables"
LET_GO = "if a table is locked, SHOW FULL PROCESSLIST shows whose connection has had LOCK TABLES, or an ALTER, under way for long"
# By the name of a part of a reading that is in a table.
UNREAD = {"upkeep": "expired rows, or rowsocket.tokens,", "limits": "limits of accounts, in mysql.user,"}


def a_plugin_is_missing(look):
    """A rule. If an option file loads the library, all its plugins are expected, otherwise those that INSTALL has
    noted. A loaded plugin that INSTALL has not noted was loaded by an option file, whatever INSTALL has noted about
    others since."""
    installed = look.now.installed
    if installed is None or not look.now.counters:
        return
    by_file = any(plugin not in installed for plugin in look.now.counters)
    for plugin in PLUGINS:
        if plugin not in look.now.counters and (by_file or plugin in installed):
            yield (f"{plugin} is not loaded, although other plugins of the library are: usually something else had its port"
                   " when the server started, or one of its variables has a value that it cannot take",
                   "the error log says why, at the server's start; then "
                   + replicas.on_this_node(look, f"INSTALL PLUGIN {plugin} SONAME 'rowsocket.so'"))


def not_all_can_be_read(look):
    """A rule: the doctor says nothing about what it cannot read."""
    for part, error in look.now.failed.items():
        what = UNREAD.get(part, f"{part} of what the server shows")
        yield (f"{what} cannot be read, so that nothing is known of them: {error}",
               f"{MAKE_ROOM}; {LET_GO}" if part in UNREAD else MAKE_ROOM)
