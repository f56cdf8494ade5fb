// Package rig has servers in memory, in virtual time, for the tests of package redlock and of its decorators.
package rig
