//go:build !js

package kinds

import "example.org/lockproof/harness/cluster/local"

func init() { Register(local.Kind) }
