package reports

import (
	"fmt"
	"strings"
)

// Annotation is an output line that GitHub shows as an error or warning beside a line of a file. Other readers ignore
// it.
func Annotation(kind, file string, line int, title, message string) string {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer(":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s file=%s,line=%d,title=%s::%s\n", kind, property.Replace(text.Replace(file)), line,
		property.Replace(text.Replace(title)), text.Replace(message))
}
