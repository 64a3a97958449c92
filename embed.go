// Package berth holds the files of the repository's top that are built into the program.
package berth

import _ "embed"

// TemporalDev is temporal-dev.yaml: how `berth dev` runs its Temporal development server.
//
//go:embed temporal-dev.yaml
var TemporalDev []byte

// OpenAPI is the API's document.
//
//go:embed api/openapi.yaml
var OpenAPI []byte
