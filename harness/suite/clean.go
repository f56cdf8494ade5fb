package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker"
	"lockproof/harness/cluster/process"
)

// Clean removes what harnesses left that died before they could do so
// themselves, on every kind of cluster, and writes to w what it did. An engine
// that cannot be used is no error: most machines have none.
func Clean(ctx context.Context, w io.Writer) error {
	done, processErr := process.Clean()
	lines, err := docker.Clean(ctx)
	var none *cluster.Unsupported
	if errors.As(err, &none) {
		err = nil
	}
	done, err = append(done, lines...), errors.Join(err, processErr)
	if len(done) == 0 && err == nil {
		done = []string{"nothing was left behind"}
	}
	if none != nil {
		done = append(done, "Docker was not looked at: "+none.Why)
	}
	for _, line := range done {
		if _, werr := fmt.Fprintln(w, line); werr != nil {
			return errors.Join(err, werr)
		}
	}
	return err
}

// sweepWithin bounds what a run does about what others have left.
const sweepWithin = time.Minute

// sweep does in passing, when a run begins, what Clean does, but for images. That
// it cannot be done is no reason not to run: `lockproof clean` tells the reason.
func sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	_, _ = process.Clean()
	_ = docker.Sweep(ctx)
}
