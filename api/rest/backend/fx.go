package backend

import (
	"go.uber.org/fx"

	"github.com/berth-dev/berth/api/rest"
)

// Module provides rest.Backend. It needs Config.
var Module = fx.Module("backend", fx.Provide(fx.Annotate(New, fx.As(new(rest.Backend)))))
