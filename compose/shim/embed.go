package shim

import _ "embed"

// Source is the shim; Header is the layout of its control file.
var (
	//go:embed src/shim.c
	Source []byte
	//go:embed src/control.h
	Header []byte
)
