// Command bench measures Lockproof side by side with what it is compared with,
// prints one table and writes it as JSON. docs/performance.md explains each
// figure.
package main
