#!/bin/sh
# Has nats-server read its configuration again when a file in one of these folders changes.
#   sh reload.sh <pid file> <folder>...      EVERY_S: seconds between looks, and between both signals
# Two signals: nats-server 2.15.1 leaves the imports of an account that is new to it closed until it reads the account a
# second time, and an account is what a tenant gets (docs/adr/0023-an-account-for-each-tenant.md).
pid_file=$1
shift
every_s=${EVERY_S:-5}

state() {
  for folder in "$@"; do cat "$folder"/*; done | sha256sum
}

tell() {
  kill -HUP "$(cat "$pid_file")" && echo "reload: told process $(cat "$pid_file")"
}

known=$(state "$@")
echo "reload: looks at $* every $every_s s"
while sleep "$every_s"; do
  now=$(state "$@")
  # A server that is not there yet is told at the next look.
  if [ "$now" != "$known" ] && tell && sleep "$every_s" && tell; then
    known=$now
  fi
done
