package main

// suites are all there are, in the order of the table.
var suites = []suite{}
