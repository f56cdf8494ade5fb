package overlay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// hooksFile is added to package net.
//
//go:embed net_hooks.go.txt
var hooksFile string

// insertion is a text behind a line that a file of Go's has once.
type insertion struct{ file, anchor, text string }

var insertions = []insertion{
	{"net/dial.go", "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {\n",
		"\tif c, ours, err := lockproofDial(d, ctx, network, address); ours {\n\t\treturn c, err\n\t}\n"},
	{"net/lookup.go", "func (r *Resolver) lookupIPAddr(ctx context.Context, network, host string) ([]IPAddr, error) {\n",
		"\tif addrs, ours, err := lockproofLookup(host); ours {\n\t\treturn addrs, err\n\t}\n"},
	{"net/tcpsock_posix.go",
		"func (sd *sysDialer) dialTCP(ctx context.Context, laddr, raddr *TCPAddr) (*TCPConn, error) {\n",
		"\tif err := lockproofConnect(raddr); err != nil {\n\t\treturn nil, err\n\t}\n"},
	// What the added file calls.
	{"internal/synctest/synctest.go", "func IsInBubble() bool\n", ""},
	{"net/dial.go", "func (d *Dialer) dialCtx(ctx context.Context) (context.Context, context.CancelFunc) {\n", ""},
}

// ReleaseError says that a Go release lacks what the overlay builds on.
type ReleaseError struct{ File, Anchor string }

func (e *ReleaseError) Error() string {
	return fmt.Sprintf("no overlay for this release of Go: %s does not have once %q", e.File, strings.TrimSpace(e.Anchor))
}

// Write writes the overlay for the Go that is installed at goroot into a folder, and gives the
// file for go's flag -overlay. Others are files that replace files, too.
func Write(folder, goroot string, others map[string]string) (string, error) {
	changed := map[string]string{filepath.Join(goroot, "src", "net", "lockproof.go"): hooksFile}
	for _, i := range insertions {
		path := filepath.Join(goroot, "src", filepath.FromSlash(i.file))
		text, begun := changed[path]
		if !begun {
			read, err := os.ReadFile(path)
			if err != nil && !os.IsNotExist(err) {
				return "", err
			}
			text = string(read)
		}
		if strings.Count(text, i.anchor) != 1 {
			return "", &ReleaseError{i.file, i.anchor}
		}
		if i.text != "" {
			changed[path] = strings.Replace(text, i.anchor, i.anchor+i.text, 1)
		}
	}
	replace := maps.Clone(others)
	if replace == nil {
		replace = map[string]string{}
	}
	for path, text := range changed {
		to := filepath.Join(folder, filepath.Base(path))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[path] = to
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}
