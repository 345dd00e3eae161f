#!/bin/sh
# Old script no. 2: adds a day's orders up.
# usage: sum-orders.sh [DAY]
set -eu
day=${1:-$(date +%F)}
awk -F, '{ sum += $3 } END { printf "%.2f EUR\n", sum }' "$HOME/reports/$day.csv" | tee "$HOME/reports/$day.sum"
