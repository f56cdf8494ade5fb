//go:build !js

package kinds

import "lockproof/harness/cluster/local"

func init() { Register(local.Kind) }
