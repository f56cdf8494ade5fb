// Package trial is one trial, from a scenario with its settings (Plan) to a judged
// history: it brings a cluster up, sets clients to work, plays the script beside
// the workload and the schedule of faults, and records what happens (Journal). Run
// shows all of it.
package trial
