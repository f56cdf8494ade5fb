#!/bin/sh
# Serves as the Redis server of this container, under the preload shim: its wall
# clock and its disk are what the control file in its volume says. The proxy
# makes that file, so there is something to wait for when all start at once.
#
# The container ends with its server, unless the file `again` is in the volume:
# then another server takes its place, on what the proxy puts there. A new run
# gets new servers so, which takes far less than a new container.
#
# The password, if there is one, goes into a file: who lists processes sees the
# words on a command line.
umask 077
if [ "$REDISCLI_AUTH" ]; then
	printf 'requirepass %s\nmasterauth %s\n' "$REDISCLI_AUTH" "$REDISCLI_AUTH" >/dev/shm/password.conf
fi
umask 022
export LOCKPROOF_SHIM=/machine/control
program=$(command -v redis-server || command -v valkey-server)
trap 'kill "$server"' TERM INT
while true; do
	until [ -e /machine/control ]; do sleep 0.01; done
	LD_PRELOAD=/usr/local/lib/lockproof-shim.so "$program" /etc/lockproof/redis.conf &
	server=$!
	wait "$server"
	status=$?
	# A signal ends the wait, and the server later.
	while kill -0 "$server" 2>/dev/null; do wait "$server"; status=$?; done
	rm /machine/again 2>/dev/null || exit "$status"
done
