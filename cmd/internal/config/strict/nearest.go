package strict

import "strings"

// Nearest returns the candidate that name was most likely meant to be: the one that
// differs least from it, by at most a third of its letters. It returns "" where none
// is near. Case and the difference of - and _ don't count.
func Nearest(name string, candidates []string) string {
	const longest = 64 // a longer name is no misspelling, and its distance costs time
	if len(name) > longest {
		return ""
	}
	folded := fold(name)
	best, least := "", len(folded)/3+1
	for _, c := range candidates {
		if d := distance(folded, fold(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is the number of letters to insert, delete, replace or swap with their
// neighbour on the way from a to b (restricted Damerau-Levenshtein).
func distance(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean is the hint for a name that isn't among those that are known.
func didYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known: " + strings.Join(known, ", ")
}
