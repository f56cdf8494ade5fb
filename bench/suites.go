package main

import (
	"lockproof/bench/checking"
	"lockproof/bench/trials"
)

// suites are all there are, in the order of the table.
var suites = []suite{
	{"checker", "histories of a thousand to a million leases", checking.Measure},
	{"trials", "trials in virtual time, the catalogue, and a long run", trials.Measure},
}
