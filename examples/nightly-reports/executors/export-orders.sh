#!/bin/sh
# Old script no. 1: the day's orders from the shop's spool into a CSV file.
# usage: export-orders.sh [DAY]
set -eu
day=${1:-$(date +%F)}
shop=$HOME/shop
if [ -e "$shop/backup.lock" ]; then
  echo "the shop's database is being backed up, try again later" >&2
  exit 75
fi
mkdir -p "$HOME/reports"
grep "^$day," "$shop/orders.csv" >"$HOME/reports/$day.csv" || true
echo "$(wc -l <"$HOME/reports/$day.csv") orders of $day"
