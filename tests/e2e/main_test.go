package e2e

import (
	"flag"
	"testing"
)

// TestMain lets more tests run at a time than there are processors, unless the caller says otherwise: most of them wait
// most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	m.Run() // its code is the process's
}
