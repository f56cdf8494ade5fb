// Package html writes report.html: one page of a run that needs neither a
// network nor JavaScript, with a picture and a story of each kind of violation.
//
// Everything that comes from a scenario, a history, a lock or a server goes
// through html/template, and the page's own policy lets no other script run
// than the page's own.
package html
