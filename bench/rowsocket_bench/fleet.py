"""The systems of a run: made by name when a case needs them, kept, and stopped."""

import os
import subprocess

import pymysql

from .galera import GaleraCluster
from .machine import is_mysql
from .mysql import MySql
from .replicas import PrimaryWithReplicas
from .systems import PLUGINS, MariaDb, Process, Unavailable


class Fleet:
    """Starts systems on demand, remembers why a system could not be started, stops them."""

    def __init__(self, base, plan):
        self.base, self.plan, self.running, self.failed = base, plan, {}, {}

    def get(self, name):
        if name in self.failed:
            raise Unavailable(self.failed[name])
        if name not in self.running:
            system = self._made(name)
            try:
                system.start()
            except (Unavailable, OSError, pymysql.MySQLError, subprocess.SubprocessError) as error:
                system.stop()
                self.failed[name] = str(error)
                raise Unavailable(str(error)) from error
            except BaseException:  # the run ends here, and no other code could stop this system
                system.stop()
                raise
            self.running[name] = system
        return self.running[name]

    def _made(self, name):
        if name == "galera":
            return GaleraCluster(name, self.base, self.plan)
        if name == "replicas":
            return PrimaryWithReplicas(name, self.base, self.plan)
        if name.split("/")[0] not in PLUGINS:
            return Process(name, self.base, self.plan)
        if is_mysql():
            return MySql(name, self.base, self.plan)
        return MariaDb(name, self.base, self.plan)

    def lost(self, name):
        """Stops a system that no longer answers; it is started anew when it is needed again."""
        system = self.running.pop(name, None)
        if system:
            system.stop()

    def settle(self):
        """Settles all systems that run, because the disk writes the pages of one while another is
        measured. The disk also still writes the data directories that were copied for new servers."""
        for system in self.running.values():
            system.settle()
        os.sync()

    def keep_only(self, names):
        for name in set(self.running) - set(names):
            self.running.pop(name).stop()

    def stop(self):
        self.keep_only(())
