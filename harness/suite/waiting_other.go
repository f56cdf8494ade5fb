//go:build !unix

package suite

import "io"

// nonBlocking gives an input as it is: see the other systems.
func nonBlocking(in io.Reader) io.Reader { return in }
