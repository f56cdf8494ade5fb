// Package filelock locks whole files between processes. The system releases a lock when its process dies in any way:
// so a lock shows that its holder is alive. It binds only processes that use it.
package filelock
