// Package terminal formats text for a terminal: width, characters, colours. It needs only one small module: a user's
// module that tests a lock depends on it, too.
package terminal
