// Package chapters makes pages of the guide's chapters, with links from their commands to the lab.
package chapters
