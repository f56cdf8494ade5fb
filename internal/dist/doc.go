// Command dist does what `make dist` does: it builds the program for each platform that is
// named, and packs it with licence and README, with a file of checksums.
//
//	go run ./internal/dist -out dist -version 0123456 linux/amd64 windows/arm64 ...
package main
