#!/bin/sh
# What was pushed, in one line. The event is JSON in the file that NIGHTSHIFT_EVENT_FILE names; its `data` is the body.
branch=$(sed -n 's|.*"ref": "refs/heads/\([^"]*\)".*|\1|p' "$NIGHTSHIFT_EVENT_FILE" | head -n 1)
[ -n "$branch" ] || exit 0 # a ping, or a tag: nothing to say
echo "$branch was pushed."
