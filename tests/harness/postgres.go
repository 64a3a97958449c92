package harness

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"
)

// shards is the number of history shards: more than the development server's one, so that workflows of one fleet do not
// run in one order by chance.
const shards = 4

type object = map[string]any

// onPostgres is a server as in production, all its services in one process, with databases of its own.
func (s *Temporal) onPostgres(t testing.TB, port, metrics int) Command {
	t.Helper()
	dir := t.TempDir()
	dynamic := object{}
	for key, value := range s.settings.DynamicConfig {
		dynamic[key] = []object{{"value": value}}
	}
	writeYAML(t, filepath.Join(dir, "dynamic.yaml"), dynamic)
	config, main := filepath.Join(dir, "server.yaml"), uniqueID(t)
	visibility := main + "_visibility"
	create := func(mainFrom, visibilityFrom string) {
		copyDatabase(t, mainFrom, main)
		copyDatabase(t, visibilityFrom, visibility)
	}
	drop := func() {
		output(t, "dropdb", "--force", main)
		output(t, "dropdb", "--force", visibility)
	}
	create("temporal_template", "visibility_template")
	s.empty = func() {
		drop()
		create("temporal_template", "visibility_template")
	}
	s.backup = func() func() {
		kept := uniqueID(t)
		copyDatabase(t, main, kept)
		copyDatabase(t, visibility, kept+"_visibility")
		return func() {
			drop()
			create(kept, kept+"_visibility")
		}
	}
	datastores := object{"main": object{"sql": connectTo(main)}, "visibility": object{"sql": connectTo(visibility)}}
	writeYAML(t, config, serverConfig(t, datastores, filepath.Join(dir, "dynamic.yaml"), s.settings.LogLevel, port, metrics))
	return Command{
		Name: "temporal", Path: Binary(t, "temporal-server"), Args: []string{"--config-file", config, "--allow-no-auth", "start"},
		Ready: s.prepareNamespace,
	}
}

func serverConfig(t testing.TB, datastores object, dynamic, level string, port, metrics int) object {
	t.Helper()
	service := func(port int) object {
		return object{"rpc": object{"grpcPort": port, "membershipPort": FreePort(t), "bindOnLocalHost": true}}
	}
	return object{
		"log": object{"stdout": true, "level": level},
		"persistence": object{
			"defaultStore": "main", "visibilityStore": "visibility", "numHistoryShards": shards,
			"datastores": datastores,
		},
		"global": object{
			"membership": object{"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"},
			"metrics":    object{"prometheus": object{"timerType": "histogram", "listenAddress": address(metrics)}},
		},
		"services": object{
			"frontend": service(port), "history": service(FreePort(t)), "matching": service(FreePort(t)), "worker": service(FreePort(t)),
		},
		"clusterMetadata": object{
			"failoverVersionIncrement": 10, "masterClusterName": "active", "currentClusterName": "active",
			"clusterInformation": object{"active": object{
				"enabled": true, "initialFailoverVersion": 1, "rpcName": "frontend", "rpcAddress": address(port),
			}},
		},
		"dynamicConfigClient": object{"filepath": dynamic, "pollInterval": "10s"},
	}
}

// copyDatabase makes a database with the tables of a template.
func copyDatabase(t testing.TB, template, name string) {
	t.Helper()
	output(t, "createdb", "--template", template, name)
	// The version of the tables is noted by database.
	output(t, "psql", "--no-psqlrc", "--quiet", "--dbname", name, "--command", "UPDATE schema_version SET db_name = '"+name+"'")
}

// connectTo is how the server connects to a database.
func connectTo(name string) object {
	return object{
		"pluginName": "postgres12", "databaseName": name, "connectProtocol": "tcp",
		"connectAddr": net.JoinHostPort(os.Getenv("PGHOST"), os.Getenv("PGPORT")),
		"user":        os.Getenv("PGUSER"), "password": os.Getenv("PGPASSWORD"),
		"maxConns": 10, "maxIdleConns": 10, "maxConnLifetime": "1h",
	}
}

// prepareNamespace does what an operator does once: it makes the namespace. The rest is as with any server.
func (s *Temporal) prepareNamespace(ctx context.Context) error {
	if err := s.reachable(ctx); err != nil {
		return err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: s.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(s.settings.Retention.D()),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return err
	}
	return s.prepare(ctx)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// writeYAML writes a file that may hold secrets.
func writeYAML(t testing.TB, path string, value any) {
	t.Helper()
	data, err := yaml.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
