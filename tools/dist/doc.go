// Command dist makes the release archives, as `make dist` does: it builds the program for
// each platform, packs it with the licence and the README, and writes a file of checksums. Run it
// in the repository's root:
//
//	go -C tools build -o ../bin/dist ./dist
//	bin/dist -out dist -version 0123456 linux/amd64 windows/arm64 ...
package main
