// Package rig runs servers in memory, in virtual time, for the tests of package redlock and its decorators.
package rig
