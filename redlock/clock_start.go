package redlock

import "time"

var started = time.Now()

// sinceStart is Go's monotonic clock. Where it stands still during suspend, a
// lease must not be trusted after the machine was suspended.
func sinceStart() time.Duration { return time.Since(started) }
