// Command bench measures Lockproof and its competitors side by side. It prints one table and writes it as JSON.
// docs/performance.md explains each figure.
package main
