package league

// Findings that many locks share.

// goRedisDeadlines is a result of go-redis's default to ignore a context.
func goRedisDeadlines(scenarios, confirm []string) Finding {
	return Finding{
		Scenarios: scenarios, Confirm: confirm,
		Short: "a cancelled acquire does not return in time",
		What: "a caller that gives up waits on: go-redis 9 heeds neither cancellation nor deadline while it waits for " +
			"an answer, but only its ReadTimeout of 5 s, and tries three times more",
		Place:   "go-redis v9.23.0 options.go:176, options.go:741",
		Reply:   "that is the client's setting, and yours to choose: ContextTimeoutEnabled",
		Depends: "on the client's options",
	}
}

// lateSet is a result of no release after an error.
func lateSet(place string) Finding {
	return Finding{
		Scenarios: []string{"late-set"}, Confirm: []string{"late-set"},
		Short: "an orphan key can block everybody for one TTL",
		What: "when the answer to the SET does not come, the caller gets an error and nothing deletes the key: if the " +
			"SET arrives all the same, nobody has the lock for a whole TTL",
		Place: place,
		Reply: "the TTL is there for that, and a caller who wants it sooner may choose a shorter one",
	}
}

// pausedHolder: a context alone cannot stop a process that sleeps.
func pausedHolder(place string) Finding {
	return Finding{
		Scenarios: []string{"client-pause", "pause-after-check", "token-check-and-set"}, Confirm: []string{"client-pause"},
		Short: "a paused process keeps working after its lease",
		What: "a process that is stopped for longer than the lock lasts goes on when it wakes up, until its watchdog " +
			"has noticed: nothing but the watchdog tells it, and there is no deadline that it could look at",
		Place:   place,
		Reply:   "no lock with a timeout stops a process that sleeps: what it guards has to check (a fencing token)",
		Depends: "on whether the work looks at a clock of its own",
	}
}
