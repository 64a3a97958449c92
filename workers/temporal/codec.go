package temporal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	encodingEncrypted = "binary/encrypted"
	metadataKeyID     = "encryption-key-id"
	keyBytes          = 32
)

// Codec encrypts payloads with AES-256-GCM. It writes with its active key and reads with any that it has. What is not
// encrypted passes through on decode, so that `temporal workflow signal --input '{…}'` works as typed.
type Codec struct {
	active string
	aeads  map[string]cipher.AEAD
}

var _ converter.PayloadCodec = (*Codec)(nil)

// NewCodec returns a codec that encrypts with the first key and decrypts with all of them. It fails on no keys, a
// repeated id, or a key that is not 32 bytes long.
func NewCodec(keys []Key) (*Codec, error) {
	if len(keys) == 0 {
		return nil, errors.New("no encryption key")
	}
	c := &Codec{active: keys[0].ID, aeads: make(map[string]cipher.AEAD, len(keys))}
	for _, k := range keys {
		if _, repeated := c.aeads[k.ID]; repeated {
			return nil, fmt.Errorf("encryption key id %q stands twice", k.ID)
		}
		if len(k.Secret) != keyBytes {
			return nil, fmt.Errorf("encryption key %q has %d bytes instead of %d", k.ID, len(k.Secret), keyBytes)
		}
		block, err := aes.NewCipher(k.Secret)
		if err != nil {
			return nil, fmt.Errorf("encryption key %q: %w", k.ID, err)
		}
		if c.aeads[k.ID], err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("encryption key %q: %w", k.ID, err)
		}
	}
	return c, nil
}

// Encode encrypts every payload with the active key. The key's id is authenticated.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	aead := c.aeads[c.active]
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("marshal a payload to encrypt: %w", err)
		}
		nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("make a nonce: %w", err)
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: []byte(encodingEncrypted),
				metadataKeyID:              []byte(c.active),
			},
			Data: aead.Seal(nonce, nonce, plain, []byte(c.active)),
		}
	}
	return out, nil
}

// Decode decrypts what was encrypted and passes the rest through. It fails on an unknown key and on a forged payload.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			out[i] = p
			continue
		}
		plain, err := c.open(p)
		if err != nil {
			return nil, err
		}
		out[i] = plain
	}
	return out, nil
}

func (c *Codec) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	id := string(p.GetMetadata()[metadataKeyID])
	aead, known := c.aeads[id]
	if !known {
		return nil, fmt.Errorf("a payload is encrypted with key %q, which the key file does not have", id)
	}
	if len(p.GetData()) < aead.NonceSize() {
		return nil, errors.New("an encrypted payload is too short")
	}
	nonce, sealed := p.GetData()[:aead.NonceSize()], p.GetData()[aead.NonceSize():]
	raw, err := aead.Open(nil, nonce, sealed, []byte(id))
	if err != nil {
		return nil, fmt.Errorf("decrypt a payload with key %q: %w", id, err)
	}
	plain := &commonpb.Payload{}
	if err := proto.Unmarshal(raw, plain); err != nil {
		return nil, fmt.Errorf("unmarshal a decrypted payload: %w", err)
	}
	return plain, nil
}
