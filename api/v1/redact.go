package v1

import "net/url"

// redacted stands where a secret may have stood.
const redacted = "(redacted)"

// Redacted returns a copy for logs: the values of the environment, all of cloud-init, and the query and user of image
// URLs are replaced. What is empty stays empty.
func (w *Workload) Redacted() Workload {
	c := w.Clone()
	if c == nil {
		return Workload{}
	}
	if c.Container != nil {
		for key := range c.Container.Env {
			c.Container.Env[key] = redacted
		}
	}
	if c.VM == nil {
		return *c
	}
	if ci := c.VM.CloudInit; ci != nil {
		for _, text := range []*string{&ci.UserData, &ci.MetaData, &ci.NetworkConfig, &ci.VendorData} {
			if *text != "" {
				*text = redacted
			}
		}
	}
	for _, d := range c.VM.Disks {
		if d.Image != nil {
			d.Image.URL = RedactURL(d.Image.URL)
		}
	}
	return *c
}

// RedactURL returns a URL without its query, user and fragment, which may hold secrets: a signed URL is as good as a
// password. What cannot be parsed is replaced as a whole.
func RedactURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Opaque != "" {
		return redacted
	}
	u.Fragment, u.RawFragment = "", ""
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	return u.String()
}
