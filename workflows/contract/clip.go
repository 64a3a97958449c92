package contract

// Clip shortens a text to at most n bytes, at a rune's edge.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const dots = "…"
	cut := n - len(dots)
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + dots
}
