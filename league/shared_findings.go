package league

// Findings that many locks share.

// goRedisDeadlines is a result of go-redis's default to ignore a context.
func goRedisDeadlines(scenarios, confirm []string) Finding {
	return Finding{
		Scenarios: scenarios, Confirm: confirm,
		Short: "a cancelled acquire does not return in time",
		What: "a caller that cancels keeps waiting: while go-redis 9 waits for a reply it ignores the context, observes " +
			"only its ReadTimeout of 5 s, and retries three times",
		Place:   "go-redis v9.23.0 options.go:176, options.go:741",
		Reply:   "that is the client's setting: use ContextTimeoutEnabled",
		Depends: "on the client's options",
	}
}

// lateSet is a result of no release after an error.
func lateSet(place string) Finding {
	return Finding{
		Scenarios: []string{"late-set"}, Confirm: []string{"late-set"},
		Short: "an orphan key can block everybody for one TTL",
		What: "without a reply to the SET the caller gets an error and nothing deletes the key: if the SET takes effect " +
			"nevertheless, no client can get the lock for a whole TTL",
		Place: place,
		Reply: "the TTL covers that, and a caller can choose a shorter one",
	}
}

// pausedHolder: a context alone cannot stop a process that sleeps.
func pausedHolder(place string) Finding {
	return Finding{
		Scenarios: []string{"client-pause", "pause-after-check", "token-check-and-set"}, Confirm: []string{"client-pause"},
		Short: "a paused process keeps working after its lease",
		What: "a process that is paused beyond its lease continues after the pause until its watchdog notices: the " +
			"lease has no deadline that the work could check",
		Place:   place,
		Reply:   "no lock with a timeout stops a paused process: the guarded resource must check a fencing token",
		Depends: "on whether the work checks its own clock",
	}
}
