package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/api/client"
	"github.com/berth-dev/berth/workers/config"
)

// clientSettings say how the CLI reaches the API.
type clientSettings struct {
	client.Options
	tokenFile string
}

func (s *clientSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.Address, "address", "http://127.0.0.1:8080", "address of the API")
	f.StringVar(&s.Token, "token", "", "token for the API")
	// A secret on the command line is readable by every user of the host: BERTH_TOKEN or a file instead.
	if err := f.MarkHidden("token"); err != nil {
		panic(err) // the flag was defined two lines up
	}
	f.StringVar(&s.tokenFile, "token-file", "", "file that holds the token for the API (or set BERTH_TOKEN)")
	f.StringVar(&s.CAFile, "ca-file", "", "certificates to trust beside the system's")
	durationVar(f, &s.Patience, "patience", 30*time.Second, "how long to repeat a request that gets no answer or is told to come again")
}

// dial returns a client, or all mistakes in its settings.
func (s *clientSettings) dial() (*client.Client, error) {
	var m config.Mistakes
	for _, arg := range os.Args {
		m.Require(arg != "--token" && !strings.HasPrefix(arg, "--token="), "token", "is a secret, and arguments can be read by every user of this host: set BERTH_TOKEN or --token-file")
	}
	if s.tokenFile != "" && s.Token == "" {
		data, err := os.ReadFile(s.tokenFile)
		m.Check("token-file", err)
		s.Token = strings.TrimSpace(string(data))
	}
	c, err := client.New(s.Options)
	m.Check("address", err)
	if err := m.Err(); err != nil {
		return nil, err
	}
	return c, nil
}
