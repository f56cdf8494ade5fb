package harness

import (
	"context"
	"errors"
	"fmt"
	"io"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker"
	"lockproof/harness/cluster/process"
)

// Clean removes what harnesses left that died before they could do so
// themselves, on every kind of cluster, and writes to w what it did. An engine
// that cannot be used is no error: most machines have none.
func Clean(ctx context.Context, w io.Writer) error {
	done, err := docker.Clean(ctx)
	var none *cluster.Unsupported
	if errors.As(err, &none) {
		err = nil
	}
	lines, processErr := process.Clean()
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
