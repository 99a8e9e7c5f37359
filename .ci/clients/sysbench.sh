#!/usr/bin/env bash
# sysbench, unmodified: every OLTP workload of its own, prepared and as text. Any error but a
# deadlock ends it.
#   sysbench.sh PORT
set -euo pipefail
port=$1
common=(--db-driver=mysql --mysql-host=127.0.0.1 --mysql-port="$port" --mysql-user=root
  --mysql-db=sbtest --tables=2 --table-size=10000 --threads=8 --time=4 --mysql-ignore-errors=1213)
mariadb --no-defaults -h127.0.0.1 -P"$port" -uroot -e 'CREATE DATABASE sbtest'
sysbench oltp_common "${common[@]}" --threads=2 prepare >/dev/null
for workload in oltp_point_select oltp_read_only oltp_read_write oltp_insert oltp_write_only \
  oltp_update_index oltp_update_non_index oltp_delete select_random_points select_random_ranges; do
  for mode in auto disable; do
    out=$(sysbench $workload "${common[@]}" --db-ps-mode=$mode run) || { echo "$out"; exit 1; }
    rate=$(sed -n 's/.*transactions:.*(\(.*\) per sec.)/\1/p' <<<"$out")
    echo "sysbench: $workload, prepared statements $mode: $rate/s"
    [ "${rate%.*}" -gt 0 ]
  done
done
sysbench oltp_common "${common[@]}" cleanup >/dev/null
sysbench bulk_insert "${common[@]}" prepare >/dev/null
sysbench bulk_insert "${common[@]}" run >/dev/null
sysbench bulk_insert "${common[@]}" cleanup >/dev/null
echo "sysbench: bulk_insert passed"
