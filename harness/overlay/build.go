package overlay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hooksFile is added to package net.
//
//go:embed net_hooks.go.txt
var hooksFile string

// netSeedFile is added to package net, and runtimeFile to package runtime, to make random choices repeatable.
//
//go:embed net_seed.go.txt
var netSeedFile string

//go:embed runtime.go.txt
var runtimeFile string

// insertion is a text after a line that occurs once in a file of Go.
type insertion struct{ file, anchor, text string }

var insertions = []insertion{
	{"net/dial.go", "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {\n",
		"\tif c, ours, err := lockproofDial(d, ctx, network, address); ours {\n\t\treturn c, err\n\t}\n"},
	{"net/lookup.go", "func (r *Resolver) lookupIPAddr(ctx context.Context, network, host string) ([]IPAddr, error) {\n",
		"\tif addrs, ours, err := lockproofLookup(host); ours {\n\t\treturn addrs, err\n\t}\n"},
	{"net/tcpsock_posix.go",
		"func (sd *sysDialer) dialTCP(ctx context.Context, laddr, raddr *TCPAddr) (*TCPConn, error) {\n",
		"\tif err := lockproofConnect(raddr); err != nil {\n\t\treturn nil, err\n\t}\n"},
	// Functions that the added file calls.
	{"internal/synctest/synctest.go", "func IsInBubble() bool\n", ""},
	{"net/dial.go", "func (d *Dialer) dialCtx(ctx context.Context) (context.Context, context.CancelFunc) {\n", ""},
}

// seeded are the random draws in Go's runtime. Each goroutine in a bubble then has a stream of its own, so that its
// draws do not depend on other goroutines.
var seeded = []insertion{
	{"runtime/runtime2.go", "\tbubble  *synctestBubble\n", "\tlockproofStream uint64\n"},
	{"runtime/synctest.go", "type synctestBubble struct {\n", "\tlockproofBegun uint64\n"},
	{"runtime/proc.go", "\t\tnewg.bubble = callergp.bubble\n", "\t\tnewg.lockproofStream = lockproofChild(callergp)\n"},
	{"runtime/rand.go", "func rand() uint64 {\n",
		"\tif gp := getg().m.curg; gp != nil && gp.bubble != nil && gp.lockproofStream != 0 {\n" +
			"\t\treturn lockproofDraw(&gp.lockproofStream)\n\t}\n"},
	{"runtime/select.go", "\t\tj := cheaprandn(uint32(norder + 1))\n",
		"\t\tif gp.bubble != nil && gp.lockproofStream != 0 {\n" +
			"\t\t\tj = uint32(lockproofDraw(&gp.lockproofStream) % uint64(norder+1))\n\t\t}\n"},
	{"runtime/time.go", "\t\t\tt.rand = cheaprand()\n", "\t\t\tt.rand = lockproofTimer(getg(), t.rand)\n"},
}

// Options are additions to package net's hooks.
type Options struct {
	Replace map[string]string // files that replace files
	// Repeatable: in a bubble, select, maps, timers of one instant and math/rand/v2 depend only on the trial's seed.
	Repeatable bool
}

// ReleaseError: a Go release lacks a line that the overlay needs.
type ReleaseError struct{ File, Anchor string }

func (e *ReleaseError) Error() string {
	return fmt.Sprintf("no overlay for this release of Go: %s does not have once %q", e.File, strings.TrimSpace(e.Anchor))
}

// Write writes the overlay for the Go at goroot into a folder, and returns the file for go's flag -overlay.
func Write(folder, goroot string, o Options) (string, error) {
	src := filepath.Join(goroot, "src")
	changed, places := map[string]string{filepath.Join(src, "net", "lockproof.go"): hooksFile}, insertions
	if o.Repeatable {
		changed[filepath.Join(src, "net", "lockproof_seed.go")] = netSeedFile
		changed[filepath.Join(src, "runtime", "lockproof.go")] = runtimeFile
		places = slices.Concat(insertions, seeded)
	}
	for _, i := range places {
		path := filepath.Join(src, filepath.FromSlash(i.file))
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
	replace := map[string]string{}
	maps.Copy(replace, o.Replace)
	for path, text := range changed {
		to := filepath.Join(folder, filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path))
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
