// Package compose embeds the definition of the docker cluster in the program.
package compose
