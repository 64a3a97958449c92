package image_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestEnsureFetchesOnce(t *testing.T) {
	data := content(t, 3*mib)
	for _, checksum := range []string{sha256Of(data), sha512Of(data)} {
		t.Run(checksum[:6], func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, "", data) })
			dir := filepath.Join(t.TempDir(), "images")
			c := open(t, dir, image.Options{})
			var last v1.Progress
			img, err := c.Ensure(t.Context(), raw(s.URL+"/a/disk.img", checksum), func(p v1.Progress) { last = p })
			require.NoError(t, err)
			requireImage(t, img, data)
			require.Equal(t, v1.Progress{Detail: "fetching disk.img", Done: 3 * mib, Total: 3 * mib}, last)
			info, err := os.Stat(dir)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o711), info.Mode().Perm())

			s.Close() // from here on the network is not needed
			again, err := open(t, dir, image.Options{}).Ensure(t.Context(), raw(s.URL+"/a/disk.img", checksum), nil)
			require.NoError(t, err)
			require.Equal(t, img, again)
		})
	}
}

func TestEnsureWithoutChecksumRevalidates(t *testing.T) {
	data, etag := content(t, mib), `"one"`
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, etag, data) })
	c := open(t, t.TempDir(), image.Options{})
	first, err := c.Ensure(t.Context(), raw(s.URL, ""), nil)
	require.NoError(t, err)

	again, err := c.Ensure(t.Context(), raw(s.URL, ""), nil)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, s.asked(), 2)
	require.Equal(t, etag, s.asked()[1].Get("If-None-Match"))
	require.Equal(t, int64(mib), s.bytesSent())

	data, etag = content(t, 2*mib), `"two"`
	changed, err := c.Ensure(t.Context(), raw(s.URL, ""), nil)
	require.NoError(t, err)
	requireImage(t, changed, data)
}

func TestEnsureWithoutAnyValidatorFetchesAgain(t *testing.T) {
	data := content(t, mib)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, "", data) })
	c := open(t, t.TempDir(), image.Options{})
	for range 2 {
		img, err := c.Ensure(t.Context(), raw(s.URL, ""), nil)
		require.NoError(t, err)
		requireImage(t, img, data)
	}
	require.Equal(t, int64(2*mib), s.bytesSent())
}

func TestEnsureWrongChecksum(t *testing.T) {
	data := content(t, mib)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, `"x"`, data) })
	dir := t.TempDir()
	c := open(t, dir, image.Options{})
	_, err := c.Ensure(t.Context(), raw(s.URL, sha256Of([]byte("other"))), nil)
	requireReason(t, err, v1.ReasonDigestMismatch, true)
	require.Len(t, s.asked(), 1)
	requirePartials(t, dir, 0)
	requireNoImages(t, c)
}

func TestEnsureAnswersThatAreNoImage(t *testing.T) {
	tests := []struct {
		code      int
		reason    v1.Reason
		permanent bool
		after     time.Duration
	}{
		{404, v1.ReasonImageNotFound, true, 0},
		{410, v1.ReasonImageNotFound, true, 0},
		{401, v1.ReasonPolicyDenied, true, 0},
		{403, v1.ReasonPolicyDenied, true, 0},
		{400, v1.ReasonFetchFailed, true, 0},
		{429, v1.ReasonFetchFailed, false, 17 * time.Second},
		{500, v1.ReasonFetchFailed, false, 17 * time.Second},
		{503, v1.ReasonFetchFailed, false, 17 * time.Second},
	}
	for _, tt := range tests {
		t.Run(strconv.Itoa(tt.code), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Retry-After", "17")
				w.WriteHeader(tt.code)
			})
			dir := t.TempDir()
			_, err := open(t, dir, image.Options{}).Ensure(t.Context(), raw(s.URL+"/x?token=hunter2", ""), nil)
			requireReason(t, err, tt.reason, tt.permanent)
			var own *contract.Error
			require.ErrorAs(t, err, &own)
			require.Equal(t, tt.after, own.After)
			require.NotContains(t, err.Error()+own.Advice, "hunter2")
			require.Len(t, s.asked(), 1, "it has to fail at once")
			requirePartials(t, dir, 0)
		})
	}
}

func TestEnsureUnreachableServer(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request, int) {})
	s.Close()
	url := "http://user:hunter1@" + s.Listener.Addr().String() + "/x?token=hunter2"
	_, err := open(t, t.TempDir(), image.Options{}).Ensure(t.Context(), raw(url, ""), nil)
	requireReason(t, err, v1.ReasonFetchFailed, false)
	require.ErrorContains(t, err, "connection refused")
	require.NotContains(t, err.Error(), "hunter")
}

func TestEnsureHidesWhereRedirectsLead(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Location", "http://127.0.0.1:1/%zz?token=hunter2")
		w.WriteHeader(http.StatusFound)
	})
	_, err := open(t, t.TempDir(), image.Options{}).Ensure(t.Context(), raw(s.URL, ""), nil)
	requireReason(t, err, v1.ReasonFetchFailed, false)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestEnsureFollowsToHTTPOnly(t *testing.T) {
	for _, location := range []string{"file:///etc/hostname?token=hunter2", "ftp://127.0.0.1/x?token=hunter2"} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		})
		_, err := open(t, t.TempDir(), image.Options{}).Ensure(t.Context(), raw(s.URL, ""), nil)
		requireReason(t, err, v1.ReasonFetchFailed, false)
		require.ErrorContains(t, err, "neither http nor https")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestEnsureTellsNoSecretToTheNextServer(t *testing.T) {
	data := content(t, mib)
	target := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, "", data) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, target.URL, http.StatusFound) })
	_, err := open(t, t.TempDir(), image.Options{}).Ensure(t.Context(), raw(s.URL+"/?token=hunter2", sha256Of(data)), nil)
	require.NoError(t, err)
	require.Empty(t, target.asked()[0].Get("Referer"))
}

func TestEnsureRefusesTooLarge(t *testing.T) {
	data := content(t, 4*mib)
	for name, chunked := range map[string]bool{"by its length": false, "while it comes": true} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
				if chunked {
					flush(w)
				}
				serveContent(w, r, "", data)
			})
			c := open(t, t.TempDir(), image.Options{MaxSize: mib})
			_, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
			requireReason(t, err, v1.ReasonPolicyDenied, true)
			requireNoImages(t, c)
		})
	}
}

func TestEnsureRefusesHostileImages(t *testing.T) {
	dir := t.TempDir()
	evil := filepath.Join(dir, "evil")
	out, err := exec.CommandContext(t.Context(), "qemu-img", "create", "-q", "-f", "qcow2", "-b", "/etc/hostname", "-F", "raw", evil, "1M").CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(evil)
	require.NoError(t, err)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, "", data) })
	for _, format := range []v1.DiskFormat{"", v1.FormatQCOW2, v1.FormatRaw} {
		c := open(t, t.TempDir(), image.Options{})
		_, err := c.Ensure(t.Context(), v1.DiskImage{URL: s.URL + "/evil.qcow2", Checksum: sha256Of(data), Format: format}, nil)
		requireReason(t, err, v1.ReasonImageInvalid, true)
		require.ErrorContains(t, err, s.URL+"/evil.qcow2")
		requireNoImages(t, c)
	}
}

func TestEnsureSeesAStall(t *testing.T) {
	data := content(t, 2*mib)
	for name, before := range map[string]int{"before the header": -1, "in the body": mib} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
				if before >= 0 {
					w.Header().Set("Content-Length", strconv.Itoa(len(data)))
					_, _ = w.Write(data[:before])
					flush(w)
				}
				<-r.Context().Done()
			})
			dir := t.TempDir()
			c := open(t, dir, image.Options{StallTimeout: time.Second})
			start := time.Now()
			_, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
			requireReason(t, err, v1.ReasonFetchStalled, false)
			require.Less(t, time.Since(start), time.Minute, "less than the default")
			require.Equal(t, int64(before), partialSize(dir), "what came is kept")
		})
	}
}
