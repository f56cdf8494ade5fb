// Package script finds a Lua script's effect on a lock's key. It runs the script on a server in memory with the key
// free, owned by the caller, and owned by another client. The effect is observed, not guessed from the script's text or
// the order of its arguments.
package script
