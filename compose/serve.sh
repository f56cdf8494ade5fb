#!/bin/sh
# Runs the Redis server of this container; for the harness, which sets LOCKPROOF_SHIM,
# under the preload shim. The control file sets the wall clock and the disk's faults.
# The harness creates that file, so the server waits for it.
#
# The container ends with its server, unless the file `again` is in its folder: then
# it starts another server with the harness's new files. So a new run gets new
# servers, which is much faster than new containers.
if [ "$LOCKPROOF_SHIM" ]; then shim=/usr/local/lib/lockproof-shim.so; else mkdir -p /machine/disk; fi
program=$(command -v redis-server || command -v valkey-server)
trap 'kill "$server"' TERM INT
while true; do
	until [ ! "$LOCKPROOF_SHIM" ] || [ -e "$LOCKPROOF_SHIM" ]; do sleep 0.01; done
	LD_PRELOAD=$shim "$program" /etc/lockproof/redis.conf &
	server=$!
	wait "$server"
	status=$?
	# A signal ends the wait before it ends the server.
	while kill -0 "$server" 2>/dev/null; do wait "$server"; status=$?; done
	rm /machine/again 2>/dev/null || exit "$status"
done
