package redlock

import "time"

// SystemClock is the machine's clock, which a Redlock uses unless WithClock
// gives another. Its readings go on while the machine is suspended where the
// system offers such a clock (CLOCK_BOOTTIME on Linux); its timers do not, so a
// timer may fire late by the time spent suspended. Deadlines are always judged
// by readings, never by a timer alone.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Duration { return sinceBoot() }

func (systemClock) Wall() time.Time { return time.Now() }

func (systemClock) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ timer *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.timer.C }

func (t systemTimer) Stop() bool { return t.timer.Stop() }
