#!/bin/sh
# Today's error lines of every log in the working folder, the newest 200. Nothing to say = no agent.
grep -hE 'ERROR|FATAL|panic' -- *.log 2>/dev/null | tail -n 200
exit 0
