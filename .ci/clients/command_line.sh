#!/usr/bin/env bash
# The command line clients: the same input must give what it gives with a MySQL server.
#   command_line.sh PORT
set -euo pipefail
port=$1
here=$(dirname "$0")
options=(--no-defaults -h127.0.0.1 -P"$port" -u"${CLIENT_USER:-root}" --force --batch)
run() { # NAME COMMAND…
  local name=$1
  shift
  if [ -n "${MAKE_EXPECTED:-}" ]; then
    "$@" "${options[@]}" <"$here/command_line.sql" >"$here/command_line.$name.expected" 2>&1 || true
  else
    "$@" "${options[@]}" <"$here/command_line.sql" 2>&1 | diff "$here/command_line.$name.expected" -
  fi
  echo "command line: $name passed"
}
run mariadb mariadb
if [ -x "${PEERS_ROOT:-/opt/peers-sid}/usr/bin/mysql" ]; then
  run mysql chroot "${PEERS_ROOT:-/opt/peers-sid}" mysql
else
  echo "command line: MySQL's own client is not installed, and left out"
fi
