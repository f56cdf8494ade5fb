package compose

import "embed"

// Files are the compose project and its image's inputs, except the lockproof binary.
//
//go:embed docker-compose.yml Dockerfile redis.conf serve.sh check.sh shim/src
var Files embed.FS
