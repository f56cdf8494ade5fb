#!/bin/sh
# Runs the Redis server of this container under the preload shim. The control file
# in its volume sets the wall clock and the disk's faults. The proxy creates that
# file, so the server waits for it.
#
# The container ends with its server, unless the file `again` is in the volume:
# then it starts another server with the proxy's new files. So a new run gets new
# servers, which is much faster than new containers.
#
# The password, if any, goes into a file: command lines are visible to every user.
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
	# A signal ends the wait before it ends the server.
	while kill -0 "$server" 2>/dev/null; do wait "$server"; status=$?; done
	rm /machine/again 2>/dev/null || exit "$status"
done
