// Package filelock locks whole files between processes. The system lets go of a
// lock when its process dies, however that happens: so a lock says that somebody
// is alive. It binds only those who ask for it.
package filelock
