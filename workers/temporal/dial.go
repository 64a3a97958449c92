package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// Options say where Temporal is and what is encrypted. An empty field leaves the choice to Temporal's own environment
// configuration: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE, temporal.toml.
type Options struct {
	Address   string
	Namespace string
	Profile   string
	// Bare ignores Temporal's environment configuration: for the development server that we started ourselves.
	Bare bool
	// Identity names this process in histories. Empty leaves the SDK's pid@host.
	Identity string
	// KeyFile, if set, turns on encryption of everything that goes to Temporal (see LoadKeys).
	KeyFile string
	// Wait bounds how long Dial tries to reach Temporal. Zero means one try.
	Wait time.Duration
	// Lazy connects only when the connection is first used: an agent looks after its host while Temporal is away.
	Lazy bool
}

// Conn is a connection to Temporal, with what is needed to read payloads that the client hands out raw.
type Conn struct {
	Client    client.Client
	Data      converter.DataConverter
	Namespace string
	Address   string
}

// ClientOptions merges the options with Temporal's environment configuration. It fails on unreadable files and keys.
func (o Options) ClientOptions(logger *slog.Logger) (client.Options, error) {
	var opts client.Options
	if !o.Bare {
		var err error
		opts, err = envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: o.Profile})
		if err != nil {
			return client.Options{}, fmt.Errorf("read Temporal's environment configuration: %w", err)
		}
	}
	if o.Address != "" {
		opts.HostPort = o.Address
	}
	if o.Namespace != "" {
		opts.Namespace = o.Namespace
	}
	if opts.HostPort == "" {
		opts.HostPort = client.DefaultHostPort
	}
	if opts.Namespace == "" {
		opts.Namespace = client.DefaultNamespace
	}
	opts.Identity = o.Identity
	// Messages are small, many, and mostly encrypted: to compress them costs an eighth of a server's CPU and saves nothing.
	opts.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	opts.Logger = log.NewStructuredLogger(logger)
	opts.DataConverter = converter.GetDefaultDataConverter()
	if o.KeyFile == "" {
		return opts, nil
	}
	codec, err := LoadKeys(o.KeyFile)
	if err != nil {
		return client.Options{}, err
	}
	opts.DataConverter = converter.NewCodecDataConverter(opts.DataConverter, codec)
	opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: opts.DataConverter, EncodeCommonAttributes: true,
	})
	return opts, nil
}

// Dial connects, trying again with growing pauses for at most o.Wait: server and agents may start before Temporal does.
func Dial(ctx context.Context, o Options, logger *slog.Logger) (*Conn, error) {
	opts, err := o.ClientOptions(logger)
	if err != nil {
		return nil, err
	}
	if o.Lazy {
		c, err := client.NewLazyClient(opts)
		if err != nil {
			return nil, fmt.Errorf("make a client for Temporal at %s: %w", opts.HostPort, err)
		}
		return &Conn{Client: c, Data: opts.DataConverter, Namespace: opts.Namespace, Address: opts.HostPort}, nil
	}
	deadline := time.Now().Add(o.Wait)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		c, err := client.DialContext(ctx, opts)
		if err == nil {
			return &Conn{Client: c, Data: opts.DataConverter, Namespace: opts.Namespace, Address: opts.HostPort}, nil
		}
		if ctx.Err() != nil || time.Now().Add(pause).After(deadline) {
			return nil, fmt.Errorf("reach Temporal at %s: %w", opts.HostPort, errors.Join(err, ctx.Err()))
		}
		logger.Warn("Temporal cannot be reached yet", "address", opts.HostPort, "error", err, "nextTry", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
