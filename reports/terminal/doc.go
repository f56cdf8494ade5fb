// Package terminal writes text for a terminal: its width, its characters, its colours.
// What it needs besides Go is one small module, since whoever tests a lock has it too.
package terminal
