module github.com/berth-dev/berth/tools/code

go 1.26.0

tool (
	go.temporal.io/sdk/contrib/tools/workflowcheck
	mvdan.cc/gofumpt
)

require (
	go.temporal.io/sdk/contrib/tools/workflowcheck v0.6.0 // indirect
	golang.org/x/mod v0.40.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/tools v0.49.0 // indirect
	gopkg.in/check.v1 v1.0.0-20201130134442-10cb98267c6c // indirect
	gopkg.in/yaml.v2 v2.4.0 // indirect
	mvdan.cc/gofumpt v0.12.0 // indirect
)
