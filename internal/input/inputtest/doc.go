// Package inputtest checks that parsers of foreign text keep to limits of time and memory, mainly for fuzzers.
package inputtest
