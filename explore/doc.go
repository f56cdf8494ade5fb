// Package explore finds schedules that break a lock: it draws them, runs them in
// virtual time, judges every property, and takes away from one that breaks some
// whatever it does not need. What is left is an ordinary scenario file.
package explore
