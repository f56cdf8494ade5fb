// Package trial runs one trial, from a scenario with its settings (Plan) to a judged history: it starts a cluster and
// clients, runs the script beside the workload and the schedule of faults, and records events (Journal). Run shows all
// of it.
package trial
