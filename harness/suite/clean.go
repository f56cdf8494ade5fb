package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
)

// Clean removes the leftovers of killed harnesses on every kind of cluster, and writes a report to w. An unusable
// engine is not an error: most machines have none.
func Clean(ctx context.Context, w io.Writer) error {
	var done, unseen []string
	var err error
	for _, k := range cluster.Kinds {
		if k.Clean == nil {
			continue
		}
		lines, kindErr := k.Clean(ctx)
		done = append(done, lines...)
		if none, ok := errors.AsType[*cluster.Unsupported](kindErr); ok {
			unseen = append(unseen, capital(k.Name)+" was not looked at: "+none.Why)
		} else {
			err = errors.Join(err, kindErr)
		}
	}
	if len(done) == 0 && err == nil {
		done = []string{"nothing was left behind"}
	}
	done = append(done, unseen...)
	for _, line := range done {
		if _, werr := fmt.Fprintln(w, line); werr != nil {
			return errors.Join(err, werr)
		}
	}
	return err
}

// sweepTimeout bounds a run's removal of leftovers.
const sweepTimeout = time.Minute

// sweep removes leftovers when a run begins, as Clean does, except images. It ignores errors, which do not affect the
// run: `lockproof clean` reports them.
func sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	for _, k := range cluster.Kinds {
		switch {
		case k.Sweep != nil:
			_ = k.Sweep(ctx)
		case k.Clean != nil:
			_, _ = k.Clean(ctx)
		}
	}
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
