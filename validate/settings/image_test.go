package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The entrypoint is known of the official images, wherever they are kept, and of no other.
func TestOfficialImages(t *testing.T) {
	for image, want := range map[string]bool{
		"redis": true, "redis:7.2-alpine": true, "library/redis": true, "docker.io/library/redis:7": true, "docker.io/redis": true,
		"public.ecr.aws/docker/library/redis:7": true, "localhost:5000/redis:7": true, "valkey/valkey:8": true,
		"redis@sha256:0123": true, "docker.io/valkey/valkey": true,
		"": false, "bitnami/redis": false, "docker.io/bitnami/redis:7": false, "ghcr.io/acme/redis": false, "acme/library/redis": false,
		"redis/redis-stack-server": false, "myredis": false, "valkey": false,
	} {
		require.Equal(t, want, start{image: image}.official() == nil, image)
	}
}
