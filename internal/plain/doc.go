// Package plain prevents text of files and servers from controlling a terminal. It escapes control characters, marks
// that turn the direction of writing, and invalid bytes: ESC as \u001b, an invalid byte as \xff. In JSON the meaning
// stays the same.
package plain
