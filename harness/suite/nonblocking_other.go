//go:build !unix

package suite

import "io"

// nonBlocking matters on unix only.
func nonBlocking(in io.Reader) io.Reader { return in }
