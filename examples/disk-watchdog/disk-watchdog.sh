#!/bin/sh
# What is printed is the message; printing nothing is silence; exit 1 would be an alert.
df -P -k 2>/dev/null | awk -v limit="${DISK_LIMIT:-90}" '
  NR > 1 {
    used = $5
    sub(/%/, "", used)
    if (used ~ /^[0-9]+$/ && used + 0 >= limit + 0) printf "%s is %s %% full (%s)\n", $6, used, $1
  }'
