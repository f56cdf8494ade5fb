// Package needs lists what tests need beyond Go. A test that lacks something is skipped for one of these reasons only,
// so that `make test` can count the skips for each reason and name the command that helps.
package needs
