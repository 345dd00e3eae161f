#!/bin/sh
# Sends a body as GitHub would: sh send.sh http://127.0.0.1:4747 '{"ref": "refs/heads/main"}' [delivery id]
url=$1 body=$2 id=${3:-$(date +%s)}
signature=$(printf %s "$body" | openssl dgst -sha256 -hmac "$GITHUB_HOOK_SECRET" | sed 's/.*= *//')
curl --silent --show-error --fail-with-body "$url/hooks/github" \
  -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \
  -H "X-GitHub-Delivery: $id" -H "X-Hub-Signature-256: sha256=$signature" --data-binary "$body"
