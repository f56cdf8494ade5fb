// Package locks says what a lock under test is: anything that satisfies Lock. It keeps the
// register of them; those that every program has are in builtin.
package locks
