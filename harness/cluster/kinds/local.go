//go:build !js

package kinds

import (
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/local"
)

func init() { cluster.Register(local.Kind) }
