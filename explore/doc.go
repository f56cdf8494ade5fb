// Package explore finds schedules that break a lock. It draws schedules, runs them in virtual time, judges every
// property, and shrinks each schedule that violates one to a small scenario file.
package explore
