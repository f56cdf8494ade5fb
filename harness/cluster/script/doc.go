// Package script knows what a Lua script does to a lock's key: it is rehearsed on a
// server in memory, with the key free, with it the caller's own, and with it another's.
// What a script does is seen there, and not guessed from its text or from where its
// arguments stand.
package script
