// Package answers puts locks as services have them to the test: what Lockproof answers to each is the test.
package answers
