// Package settings reads what an operator has: redis.conf, and what brings a
// server back (a systemd unit, a compose file, a Kubernetes workload). It says
// where each thing was set, and what it could not understand.
package settings
