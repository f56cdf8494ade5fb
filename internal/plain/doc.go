// Package plain keeps what files and servers say from acting on a terminal.
// Control characters, marks that turn the direction of writing, and bytes that
// are no text are written out: ESC as \u001b, an odd byte as \xff. In JSON that
// stands for the same text.
package plain
