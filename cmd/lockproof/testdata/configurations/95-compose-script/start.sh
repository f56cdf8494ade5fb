#!/bin/sh
exec redis-server /etc/redis.conf --appendonly no
