package compose

import "embed"

// Files are the compose project and its image's inputs.
//
//go:embed docker-compose.yml Dockerfile redis.conf serve.sh check.sh forward/forward.c shim/src
var Files embed.FS
