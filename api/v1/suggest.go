package v1

import "strings"

// hintFor says which known name was probably meant, or else which names there are.
func hintFor(key string, known []string) string {
	if near := nearest(key, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ": known here are " + strings.Join(known, ", ")
}

// nearest returns the known name that is most like the key, or "" if none is near.
func nearest(key string, known []string) string {
	if len(key) > 64 {
		return ""
	}
	lower := strings.ToLower(key)
	best, bestDistance := "", 3
	for _, name := range known {
		other := strings.ToLower(name)
		distance := editDistance(lower, other)
		if distance*2 > len(other) {
			distance = bestDistance // two edits in a short word make another word
		}
		if distance < bestDistance {
			best, bestDistance = name, distance
		}
	}
	if best != "" {
		return best
	}
	// hostPort is nearest to host, and image to imagePullPolicy: the longest that starts alike.
	for _, name := range known {
		other := strings.ToLower(name)
		alike := strings.HasPrefix(lower, other) || strings.HasPrefix(other, lower)
		if alike && min(len(lower), len(other)) >= 3 && len(name) > len(best) {
			best = name
		}
	}
	return best
}

// editDistance is Levenshtein's: how many bytes must be put in, left out or replaced.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
