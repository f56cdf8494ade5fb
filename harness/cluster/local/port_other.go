//go:build !linux

package local

import "errors"

// port is for Linux, which local clusters need.
type port struct{ number int }

func reservePort() (*port, error) { return nil, errors.ErrUnsupported }

func (*port) release() {}
