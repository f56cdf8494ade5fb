// Command lockproof tests a Redis lock under faults and reports whether two
// clients ever held it at once.
package main
