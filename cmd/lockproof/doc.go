// Command lockproof puts a Redis lock through everything that can go wrong and
// says whether two clients ever held it at once.
package main
