#!/bin/sh
# Has nats-server read its configuration again when a file in one of these folders changes.
#   sh reload.sh <pid file> <folder>...      EVERY_S: seconds between looks, and between both signals
# Two signals: nats-server 2.15.1 leaves the imports of an account that is new to it closed until it reads the account a
# second time, and an account is what a tenant gets (docs/adr/0023-an-account-for-each-tenant.md).
pid_file=$1
shift
every_s=${EVERY_S:-5}

say() {
  echo "$(date -u +%Y-%m-%dT%H:%M:%SZ) reload: $*"
}

state() {
  for folder in "$@"; do sha256sum "$folder"/*; done
}

# Files of $now that are not as in $known.
changed() {
  printf '%s\n' "$now" | while read -r sum file; do
    case $known in *"$sum  $file"*) ;; *) printf '%s ' "$file" ;; esac
  done
}

# True if a users.conf names nobody: what made it has failed. An empty one would let everybody in, and no service find
# its streams.
nobody() {
  for folder in "$@"; do
    [ -e "$folder/users.conf" ] || continue
    grep -v '^[[:space:]]*#' "$folder/users.conf" | grep -Eq '(nkey|user|token|operator)"?[[:space:]]*[:= ]' || return 0
  done
  return 1
}

tell() {
  process=$(cat "$pid_file") && kill -HUP "$process" && say "told process $process, for $(changed)"
}

known=$(state "$@")
refused=
say "looks at $* every $every_s s"
while sleep "$every_s"; do
  now=$(state "$@")
  [ "$now" != "$known" ] || continue
  if nobody "$@"; then
    [ "$now" = "$refused" ] || say "the server is NOT told: users.conf names no user. Make it again (fanfuse deploy nats)"
    refused=$now
  # A server that is not there yet is told at the next look.
  elif tell && sleep "$every_s" && tell; then
    known=$now
  fi
done
