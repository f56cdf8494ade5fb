// Package answers tests locks as services have them: each test compares Lockproof's answer with a golden file.
package answers
