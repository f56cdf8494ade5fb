// Package chapters makes pages of the guide's chapters: what they run leads to the lab.
package chapters
