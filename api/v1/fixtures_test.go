package v1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func minimalContainer() *Workload {
	return &Workload{
		APIVersion: APIVersion, Kind: KindContainer,
		Metadata:  Metadata{Name: "web"},
		Container: &ContainerSpec{Image: "nginx:1.27"},
	}
}

func minimalVM() *Workload {
	return &Workload{
		APIVersion: APIVersion, Kind: KindVM,
		Metadata: Metadata{Name: "guest"},
		VM: &VMSpec{
			VCPUs: 1, Memory: 256 << 20,
			Disks: []Disk{{Name: "root", Image: &DiskImage{Path: "/var/lib/images/base.qcow2"}}},
		},
	}
}

// strictContainer is strict, which what has volumes can't be.
func strictContainer() *Workload {
	w := minimalContainer()
	w.Container.Strict = true
	return w
}

// fullContainer and fullVM set every other field; TestFixturesAreFull holds them to it.
func fullContainer() *Workload {
	w := minimalContainer()
	w.Metadata.Labels = map[string]string{"app": "shop", "tier": "front"}
	w.Container = &ContainerSpec{
		Common: Common{
			Type: TypeJob, Job: &JobPolicy{MaxAttempts: 3, Deadline: Duration(time.Hour)},
			Restart: &RestartPolicy{Policy: RestartNo}, Priority: 3,
			Placement:  &Placement{Hosts: []string{"h1", "h2"}, Labels: []string{"rack=a", "gpu"}, Apart: "app"},
			OnHostLoss: LossWait, MoveAfter: Duration(time.Minute),
			StopGracePeriod: Duration(time.Minute),
		},
		Image: "registry.example.com:5000/team/app:v1@sha256:" + strings.Repeat("ab", 32),
		Pull:  PullAlways, Command: []string{"/app"}, Args: []string{"--serve", ""},
		Env: map[string]string{"TOKEN": "s3cret", "EMPTY": ""}, WorkingDir: "/srv", User: "app:www", Hostname: "web.local",
		Init: true, StopSignal: "SIGRTMIN+3",
		Ports:   []Port{{Container: 80, Host: 8080, HostIP: "127.0.0.1", Protocol: "tcp"}, {Container: 53, Protocol: "udp"}},
		Volumes: []Mount{{Name: "data", Target: "/data"}, {Bind: "/srv/web", Target: "/web", ReadOnly: true}},
		Devices: []Device{{Host: "/dev/null", Container: "/dev/sink", Permissions: "rw"}},
		Resources: Resources{
			CPUs: 1500, Memory: 256 << 20, MemorySwap: 512 << 20, Pids: 100,
		},
		HealthCheck: &HealthCheck{
			Command: []string{"curl", "localhost"}, Interval: Duration(time.Second), Timeout: Duration(time.Second),
			StartPeriod: Duration(time.Second), Retries: 2, ReadyTimeout: Duration(time.Minute),
		},
		Labels: map[string]string{"org.example.team": "shop front"},
	}
	return w
}

func fullVM() *Workload {
	w := minimalVM()
	w.Metadata.Labels = map[string]string{"app": "sandbox", "tier": "build"}
	w.VM = &VMSpec{
		Common: Common{
			Type: TypeService, Job: nil,
			Restart: &RestartPolicy{Policy: RestartOnFailure, MaxRetries: 3}, Priority: -3,
			Placement:  &Placement{Hosts: []string{"h1"}, Labels: []string{"disk!=hdd"}, Apart: "tier"},
			OnHostLoss: LossWait, MoveAfter: Duration(time.Hour),
			StopGracePeriod: Duration(time.Minute),
		},
		VCPUs: 2, Memory: 2 << 30,
		Disks: []Disk{
			{
				Name: "root", Size: 10 << 30, Mode: DiskCopy, ReadOnly: true,
				Image: &DiskImage{
					URL: "https://images.example.com/base.qcow2?sig=s3cret", Checksum: "sha256:" + strings.Repeat("0a", 32),
					Format: FormatRaw,
				},
			},
			{Name: "base", Image: &DiskImage{Path: "/var/lib/images/x.qcow2"}},
			{Name: "data", Size: 1 << 30, Format: FormatQCOW2},
			{Name: "own", Path: "/srv/own.raw", Format: FormatRaw},
		},
		Networks: []Network{
			{Network: "default", MAC: "52:54:00:12:34:56", IP: "192.168.122.50"},
			{Bridge: "br0"},
		},
		CloudInit: &CloudInit{
			UserData: "#cloud-config\npassword: s3cret\n", MetaData: "instance-id: s3cret\n",
			NetworkConfig: "version: 2 # s3cret\n", VendorData: "#cloud-config # s3cret\n",
		},
		Metadata: map[string]string{"owner": "me"},
		Firmware: FirmwareUEFI, BootTimeout: Duration(time.Minute),
		Readiness: &Readiness{When: ReadyConsole, Line: "login:"},
	}
	return w
}

func fixtures() map[string]*Workload {
	return map[string]*Workload{
		"minimal container": minimalContainer(), "full container": fullContainer(),
		"minimal vm": minimalVM(), "full vm": fullVM(), "strict container": strictContainer(),
	}
}

// setFields collects the names of all struct fields that are set anywhere in a value.
func setFields(v reflect.Value, into map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setFields(v.Elem(), into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			setFields(v.Index(i), into)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				into[v.Type().Name()+"."+v.Type().Field(i).Name] = true
				setFields(v.Field(i), into)
			}
		}
	}
}

// allFields collects the names of all struct fields that a type can have anywhere.
func allFields(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		allFields(t.Elem(), into)
	case reflect.Struct:
		for i := range t.NumField() {
			into[t.Name()+"."+t.Field(i).Name] = true
			allFields(t.Field(i).Type, into)
		}
	}
}

func TestFixturesAreFull(t *testing.T) {
	set, all := map[string]bool{}, map[string]bool{}
	for _, w := range fixtures() {
		setFields(reflect.ValueOf(w), set)
	}
	allFields(reflect.TypeFor[Workload](), all)
	require.Equal(t, all, set, "a fixture must set every field of a workload")
}

// fieldErrors returns the errors as "path: message".
func fieldErrors(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var fields FieldErrors
	require.ErrorAs(t, err, &fields)
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Error()
	}
	return texts
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
