package validate

import (
	"context"
	"os"
	"slices"
	"time"
)

// Disk is how long an fdatasync of a small write takes in a folder of this machine.
type Disk struct {
	Dir    string        `json:"dir"`
	Median time.Duration `json:"median"` // nanoseconds
	P99    time.Duration `json:"p99"`    // nanoseconds
}

const syncs = 200

// MeasureDisk appends to a file as Redis does to its own, and syncs.
func MeasureDisk(ctx context.Context, dir string) (*Disk, error) {
	file, err := os.CreateTemp(dir, "lockproof-fdatasync-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	line, times := make([]byte, 100), make([]time.Duration, 0, syncs)
	for len(times) < syncs && ctx.Err() == nil {
		if _, err := file.Write(line); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := fdatasync(file); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	if len(times) == 0 {
		return nil, ctx.Err()
	}
	slices.Sort(times)
	return &Disk{dir, times[len(times)/2], times[len(times)*99/100]}, nil
}
