#!/bin/sh
# Checks whether an image is usable as a node. If not, it prints the reason on a
# line that begins with "lacking: ", and the build fails.
lacking() { echo "lacking: $*" >&2; exit 1; }

server=$(command -v redis-server || command -v valkey-server) || lacking "it has neither redis-server nor valkey-server in PATH"
for tool in sleep rm mkdir chown; do
	command -v "$tool" >/dev/null || lacking "it has no $tool"
done
version=$("$server" --version 2>&1) || lacking "$server --version fails: $version"
major=${version#*v=}
major=${major%%.*}
[ "$major" -ge 7 ] 2>/dev/null || lacking "$server is \"$version\": version 7.0 or later is needed"
shimmed=$(LD_PRELOAD=/usr/local/lib/lockproof-shim.so "$server" --version 2>&1)
[ "$shimmed" = "$version" ] || lacking "its C library cannot load the preload shim, which needs glibc 2.34 or later: $shimmed"
