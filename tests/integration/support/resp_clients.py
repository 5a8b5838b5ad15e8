"""Clients of Redis by other projects, fetched into the cache when a test first asks for them, and programs for them.

    python   redis-py, from the tests' own packages
    php      phpredis and Predis, from Debian; laravel adds Laravel, from Debian
    node     node-redis and ioredis, from npm
    ruby     redis-rb, from Debian
    go       go-redis, rueidis and redigo
    java     Jedis, Lettuce and Vert.x, from Maven Central
    rust     redis-rs and fred
"""

import os
import pathlib
import shutil
import sys
import tempfile

import third_party
from third_party import debian_packages, fetch, libraries_of, making, need, run

NODE_PACKAGES = ["redis@6.3.1", "ioredis@6.0.0"]
PHP_PACKAGE = "php8.2-redis"
PREDIS_PACKAGE = "php-predis"
# The parts of Laravel 8.83 for its cache, sessions and queues, with the packages that they import.
LARAVEL_PACKAGES = [
    *(f"php-illuminate-{name}" for name in ("cache", "collections", "config", "container", "contracts", "filesystem",
                                            "macroable", "queue", "redis", "session", "support")),
    *(f"php-symfony-{name}" for name in ("deprecation-contracts", "finder", "http-foundation", "translation",
                                         "translation-contracts")),
    "php-doctrine-inflector", "php-nesbot-carbon", "php-psr-container", "php-psr-simple-cache",
    "php-voku-portable-ascii", "php8.2-mbstring"]
RUBY_PACKAGES = ["ruby3.1", "libruby3.1", "ruby-redis", "libyaml-0-2"]
GO_MODULES = ["github.com/redis/go-redis/v9@v9.23.0", "github.com/redis/rueidis@v1.0.79",
              "github.com/gomodule/redigo@v1.9.3"]
# Vert.x comes first because several clients need Netty, and Maven takes the version that the first one needs.
JARS = {"io.vertx:vertx-redis-client": "5.2.3", "redis.clients:jedis": "8.0.2",
        "io.lettuce:lettuce-core": "7.7.0.RELEASE", "org.slf4j:slf4j-nop": "1.7.36"}
BUILD_TIMEOUT_S = 1800
CRATES = """
redis = { version = "=1.8.1", default-features = false, features = [
  "tokio-comp", "connection-manager", "tokio-rustls-comp", "tls-rustls-insecure"] }
fred = { version = "=10.1.0", features = ["enable-rustls-ring"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread", "time"] }
"""


def python(text, *arguments):
    return run(sys.executable, "-c", text, *arguments)


def php(text, *arguments, extensions=(), folders=()):
    """Runs a program of PHP. `extensions`: additional ones; `folders`: more folders with files to include."""
    command, environment = third_party.php()
    extension = next(debian_packages("php-redis", [PHP_PACKAGE]).glob("usr/lib/php/2*/redis.so"))
    predis = debian_packages("php-predis", [PREDIS_PACKAGE]) / "usr/share/php"
    loaded = [word for path in (extension, *extensions) for word in ("-d", f"extension={path}")]
    # json and the session are built into PHP.
    return run(*command, *loaded, "-d", f"include_path={':'.join(map(str, (predis, *folders)))}", "-r",
               text.removeprefix("<?php\n"), "--", *arguments, env=environment)


def laravel(text, *arguments):
    """A program of PHP that finds Laravel's files."""
    root = debian_packages("laravel", LARAVEL_PACKAGES)
    return php(text, *arguments, extensions=("ctype.so", *root.glob("usr/lib/php/2*/mbstring.so")),
               folders=[root / "usr/share/php"])


def node(text, *arguments):
    need("node", "npm")
    with making("node-redis") as (folder, empty):
        if empty:
            fetch("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", empty, *NODE_PACKAGES)
    with tempfile.TemporaryDirectory(prefix="rs-node-") as made:
        program = pathlib.Path(made) / "main.mjs"
        program.write_text(text, encoding="utf-8")
        (program.parent / "node_modules").symlink_to(folder / "node_modules")
        return run("node", program, *arguments)


def ruby(text, *arguments):
    root = debian_packages("ruby-redis", RUBY_PACKAGES)
    folders = [root / "usr/lib/ruby/3.1.0", next(root.glob("usr/lib/*-linux-gnu/ruby/3.1.0")),
               *root.glob("usr/share/rubygems-integration/all/gems/redis*/lib"), root / "usr/lib/ruby/vendor_ruby"]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries_of(root), "RUBYLIB": ":".join(map(str, folders)),
                   "LANG": "C.UTF-8"}
    return run(root / "usr/bin/ruby3.1", "--disable-gems", "-e", text, *arguments, env=environment)


def go(text, *arguments):
    need("go")
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    with making("go-redis") as (folder, empty):
        if empty:
            fetch("go", "mod", "init", "play", cwd=empty, env=environment)
            fetch("go", "get", *GO_MODULES, cwd=empty, env=environment)
    with tempfile.TemporaryDirectory(prefix="rs-go-") as made:
        for name in ("go.mod", "go.sum"):
            shutil.copy(folder / name, made)
        (pathlib.Path(made) / "main.go").write_text(text, encoding="utf-8")
        run("go", "build", "-o", "play", ".", cwd=made, env=environment)
        return run(pathlib.Path(made) / "play", *arguments)


def java(text, *arguments):
    """`text`: the source of the class Main."""
    need("java", "javac", "mvn")
    with making("java-redis-vertx") as (folder, empty):
        if empty:
            wanted = "".join(
                "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
                    *name.split(":"), version) for name, version in JARS.items())
            (empty / "pom.xml").write_text(
                "<project><modelVersion>4.0.0</modelVersion><groupId>play</groupId><artifactId>play</artifactId>"
                f"<version>1</version><dependencies>{wanted}</dependencies></project>", encoding="utf-8")
            fetch("mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={empty}", cwd=empty)
    jars = ":".join(map(str, sorted(folder.glob("*.jar"))))
    with tempfile.TemporaryDirectory(prefix="rs-java-") as made:
        source = pathlib.Path(made) / "Main.java"
        source.write_text(text, encoding="utf-8")
        run("javac", "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", made, source)
        return run("java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-cp", f"{jars}:{made}", "Main", *arguments)


def rust(text, *arguments):
    """The clients are compiled once, the program again whenever its text changes."""
    need("cargo")
    with making("rust-redis") as (folder, empty):
        if empty:
            (empty / "src").mkdir()
            (empty / "src/main.rs").write_text("fn main() {}", encoding="utf-8")
            (empty / "Cargo.toml").write_text(
                f'[package]\nname = "play"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]{CRATES}',
                encoding="utf-8")
            fetch("cargo", "fetch", "-q", cwd=empty)
            run("cargo", "build", "-q", "--offline", cwd=empty, timeout=BUILD_TIMEOUT_S)
        main = folder / "src/main.rs"
        if main.read_text(encoding="utf-8") != text:
            main.write_text(text, encoding="utf-8")
        run("cargo", "build", "-q", "--offline", cwd=folder, timeout=BUILD_TIMEOUT_S)
    return run(folder / "target/debug/play", *arguments)


PROGRAMS = {"python": python, "php": php, "javascript": node, "ruby": ruby, "go": go, "java": java, "rust": rust}
