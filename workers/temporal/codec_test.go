package temporal

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

func codecOf(t *testing.T, ids ...string) (*Codec, []Key) {
	t.Helper()
	var keys []Key
	for _, id := range ids {
		k, err := NewKey(id)
		require.NoError(t, err)
		keys = append(keys, k)
	}
	c, err := NewCodec(keys)
	require.NoError(t, err)
	return c, keys
}

func TestCodecHidesAndRestores(t *testing.T) {
	codec, _ := codecOf(t, "k1")
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	in := map[string]string{"PASSWORD": "hunter2"}
	payloads, err := data.ToPayloads(in, "second")
	require.NoError(t, err)
	for _, p := range payloads.Payloads {
		require.Equal(t, "binary/encrypted", string(p.Metadata["encoding"]))
		require.Equal(t, "k1", string(p.Metadata["encryption-key-id"]))
		require.NotContains(t, string(p.Data), "hunter2")
		require.NotContains(t, string(p.Data), "second")
	}
	var got map[string]string
	var second string
	require.NoError(t, data.FromPayloads(payloads, &got, &second))
	require.Equal(t, in, got)
	require.Equal(t, "second", second)

	again, err := data.ToPayloads(in, "second")
	require.NoError(t, err)
	require.NotEqual(t, payloads.Payloads[0].Data, again.Payloads[0].Data, "the same plain text must not show as the same")
}

func TestCodecPassesPlainPayloadsThrough(t *testing.T) {
	codec, _ := codecOf(t, "k1")
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	typed := &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("json/plain")},
		Data:     []byte(`{"requestId":"r1"}`),
	}
	var raw converter.RawValue
	require.NoError(t, data.FromPayload(typed, &raw))
	require.True(t, proto.Equal(typed, raw.Payload()), "a signal as typed arrives as it is")
	var decoded struct{ RequestID string }
	require.NoError(t, data.FromPayload(typed, &decoded))
	require.Equal(t, "r1", decoded.RequestID)
}

func TestCodecRotation(t *testing.T) {
	before, keys := codecOf(t, "old")
	next, err := NewKey("new")
	require.NoError(t, err)
	after, err := NewCodec([]Key{next, keys[0]})
	require.NoError(t, err)
	plain := []*commonpb.Payload{{Data: []byte("x")}}

	written, err := before.Encode(plain)
	require.NoError(t, err)
	read, err := after.Decode(written)
	require.NoError(t, err)
	require.True(t, proto.Equal(plain[0], read[0]))

	rewritten, err := after.Encode(plain)
	require.NoError(t, err)
	require.Equal(t, "new", string(rewritten[0].Metadata["encryption-key-id"]))
	_, err = before.Decode(rewritten)
	require.ErrorContains(t, err, `key "new"`)
}

func TestCodecRefusesForgeries(t *testing.T) {
	codec, _ := codecOf(t, "a", "b")
	sealed, err := codec.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	for name, forge := range map[string]func(*commonpb.Payload){
		"a bit flipped": func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 },
		"another key":   func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("b") },
		"unknown key":   func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("c") },
		"truncated":     func(p *commonpb.Payload) { p.Data = p.Data[:5] },
	} {
		t.Run(name, func(t *testing.T) {
			p := proto.Clone(sealed[0]).(*commonpb.Payload)
			forge(p)
			_, err := codec.Decode([]*commonpb.Payload{p})
			require.Error(t, err)
		})
	}
}

func TestFailuresAreEncrypted(t *testing.T) {
	codec, _ := codecOf(t, "k1")
	data := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: true,
	})
	in := temporal.NewApplicationErrorWithOptions("password hunter2 was refused", "PolicyDenied",
		temporal.ApplicationErrorOptions{Details: []any{"detail hunter2"}})
	wire := failures.ErrorToFailure(in)
	raw, err := proto.Marshal(wire)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter2")

	var app *temporal.ApplicationError
	require.ErrorAs(t, failures.FailureToError(wire), &app)
	require.Equal(t, "password hunter2 was refused", app.Message())
	require.Equal(t, "PolicyDenied", app.Type())
	var detail string
	require.NoError(t, app.Details(&detail))
	require.Equal(t, "detail hunter2", detail)
}
