//go:build !linux

package redlock

import "time"

func sinceBoot() time.Duration { return sinceStart() }
