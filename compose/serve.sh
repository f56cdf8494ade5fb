#!/bin/sh
# Starts the Redis server of this container, under the preload shim: its wall
# clock and its disk are what the control file in its volume says. The proxy
# makes that file, so there is something to wait for when all start at once.
until [ -e /data/control ]; do sleep 0.02; done
LD_PRELOAD=/usr/local/lib/lockproof-shim.so LOCKPROOF_SHIM=/data/control exec redis-server /etc/lockproof/redis.conf
