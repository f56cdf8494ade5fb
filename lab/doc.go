// Package lab runs experiments: a scenario of the catalogue in virtual time,
// with its TTL, its drift factor, a restart delay, a rule or the size of a fault
// changed. Package suite runs them, and the checker judges.
package lab
