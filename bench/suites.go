package main

import (
	"example.org/lockproof/bench/checking"
	"example.org/lockproof/bench/lock"
	"example.org/lockproof/bench/searching"
	"example.org/lockproof/bench/trials"
)

// suites are listed in the order of the table.
var suites = []suite{
	{"lock", "the reference lock beside other libraries' and the bare commands", lock.Measure},
	{"lock-options", "what the reference's options cost: the same lock with and without, turn by turn",
		lock.MeasureOptions}, {"checker", "histories of a thousand to a million leases", checking.Measure},
	{"explore", "how soon a search finds what breaks a lock: 20 seeds, up to a minute each; takes an hour",
		searching.Measure},
	{"schedules", "how many schedules a second a search goes through, and what parts of one take", searching.MeasureRate},
	{"trials", "trials in virtual time, in children and without, the catalogue, and a long run", trials.Measure},
}
