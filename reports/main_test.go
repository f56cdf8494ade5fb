package reports

import (
	"os"
	"testing"
)

var folder string // of the histories that several tests read

func temporary() (string, error) {
	var err error
	folder, err = os.MkdirTemp("", "lockproof-reports-")
	return folder, err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		os.RemoveAll(folder)
	}
	os.Exit(code)
}
