// Package lab runs experiments: a scenario of the catalogue in virtual time with a changed TTL, drift factor, restart
// delay, rule or fault. Package suite runs them, and the checker judges.
package lab
