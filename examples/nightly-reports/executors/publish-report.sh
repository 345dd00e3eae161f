#!/bin/sh
# Old script no. 3: puts the day's report where people look for it.
# usage: publish-report.sh [DAY]
set -eu
day=${1:-$(date +%F)}
mkdir -p "$HOME/public"
{
  echo "Orders of $day: $(cat "$HOME/reports/$day.sum")"
  cut -d, -f2 "$HOME/reports/$day.csv" | sort | uniq -c
} >"$HOME/public/$day.txt"
cat "$HOME/public/$day.txt"
