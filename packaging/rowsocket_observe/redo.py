"""The redo log of InnoDB: rules of trouble.py."""

# The share of the redo log that is in use when writes wait, or are about to. MariaDB writes pages in a hurry from 7/8 of its
# limit on, and writes wait at the limit itself. MySQL keeps a reserve of its capacity, so that they wait at about 0.89 of it.
NEARLY_FULL = {"innodb_log_file_size": 0.95, "innodb_redo_log_capacity": 0.85}


def the_redo_log_is_nearly_full(look):
    server = look.now.server
    if "innodb_checkpoint_max_age" in server:
        used, limit, name = int(server["innodb_checkpoint_age"]), int(server["innodb_checkpoint_max_age"]), "innodb_log_file_size"
    elif "innodb_redo_log_capacity_resized" in server:
        used = int(server["innodb_redo_log_current_lsn"]) - int(server["innodb_redo_log_checkpoint_lsn"])
        limit, name = int(server["innodb_redo_log_capacity_resized"]), "innodb_redo_log_capacity"
    else:
        return
    if limit and used >= NEARLY_FULL[name] * limit:
        yield (f"the redo log is {used / limit:.0%} full ({used >> 20} of {limit >> 20} MiB): writes wait until changed pages are"
               " on the disk",
               f"raise {name} (SET GLOBAL), and innodb_io_capacity where the disk can do more")


def the_redo_log_is_off(look):
    """As for the loading of a new server."""
    if look.now.server.get("innodb_redo_log_enabled") == "OFF":
        yield ("the redo log is switched off (Innodb_redo_log_enabled): no write that was answered survives the end of the server's"
               " process or of the machine, and the server may not start again", "ALTER INSTANCE ENABLE INNODB REDO_LOG")
