// Package server sets up real Redis servers for the clusters that have some, and
// speaks to them past every link: to see what state a server is in, and to do to
// it what an operator does.
package server
