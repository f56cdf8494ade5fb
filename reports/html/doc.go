// Package html writes report.html: the page of a run, with a picture and a story of each kind of violation. It needs
// neither a network nor JavaScript.
//
// All text from scenarios, histories, locks and servers passes through html/template, and the page's policy allows only
// the page's own script.
package html
