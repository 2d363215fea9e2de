#!/bin/sh
# Prints the path of redis-server, for tests and examples; as root, on Debian and Ubuntu, installs it first when it is missing.
set -eu

if ! command -v redis-server >/dev/null; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "redis-server is not on PATH. Install Redis 6 or later, for example: sudo apt-get install redis-server" >&2
    exit 1
  fi
  # The package would start a server of its own; only the program is needed.
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends redis-server >&2
  if command -v systemctl >/dev/null; then systemctl disable --now redis-server >/dev/null 2>&1 || true; fi
fi
command -v redis-server
