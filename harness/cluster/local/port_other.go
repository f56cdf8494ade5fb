//go:build !linux

package local

import "errors"

// port is unsupported here: local clusters need Linux.
type port struct{ number int }

func reservePort() (*port, error) { return nil, errors.ErrUnsupported }

func (*port) release() {}
