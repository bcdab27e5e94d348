package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"unicode"
)

// rule is one law of the house. check calls report for each breach, with the place and
// what is wrong there.
type rule struct {
	name, why string
	check     func(t tree, report func(at, what string))
}

var rules = []rule{
	{
		"every package has its place", "the table is the plan of the house: a package that isn't in it was not planned",
		func(t tree, report func(at, what string)) {
			for _, folder := range t.folders() {
				if _, known := roomOf(folder); !known {
					report(folder, "is not in the table of packages (table_test.go)")
				}
			}
		},
	},
	{"imports run one way", "cmd -> {runner, baselines, gate/report, gate/github} -> gate/rundir -> gate -> gate/stats", checkDirection},
	{"some packages have one reader", "what only cmd needs to know must not leak into the libraries", checkReaders},
	{"pure packages are pure", "a computation that asks a file, the network or the clock can't be repeated from its records", checkPurity},
	{"packages leave out what others do", "each job is done in one place", checkNever},
	{"libraries neither log nor print nor exit", "warnings are data in the result; only cmd talks to people and ends the process", checkSilence},
	{"the root holds only what is planned", "a newcomer reads the root first", checkRoot},
	{"every package has exactly one package comment", "it says what the package does and what it leaves to others", checkPackageComments},
	{"exported names have comments", "units, errors and the source of a formula stand where the name is declared", checkComments},
	{"functions are short", fmt.Sprintf("more than %d lines are more than one thought", maxFunction), checkFunctions},
	{"files are short", fmt.Sprintf("a file has at most %d lines, and main.go %d", maxFile, maxMain), checkFiles},
	{"packages are small", fmt.Sprintf("a package with more than %d files is two packages", maxFiles), checkPackageSizes},
	{"interfaces are small", fmt.Sprintf("an interface of more than %d methods is a type's description, not a need", maxInterface), checkInterfaces},
	{"names are the field's", "envelope, cell, goodput, TTFT say what is meant; util, helper, perf, score and a bare latency don't", checkNames},
	{"nothing is put off in comments", "what is to be done stands in an issue", checkMarkers},
}

// each calls visit for every file of t, folder by folder.
func (t tree) each(visit func(folder string, s source)) {
	for _, folder := range t.folders() {
		for _, s := range t.packages[folder] {
			visit(folder, s)
		}
	}
}

// ourImports calls visit for every import of the module's own packages.
func (t tree) ourImports(visit func(folder string, s source, imported string)) {
	t.each(func(folder string, s source) {
		for _, path := range s.imports() {
			if imported, ours := strings.CutPrefix(path, module+"/"); ours {
				visit(folder, s, imported)
			}
		}
	})
}

func checkDirection(t tree, report func(at, what string)) {
	t.ourImports(func(folder string, s source, imported string) {
		if r, known := roomOf(folder); known && !matchesAny(r.ours, imported) {
			report(s.path, fmt.Sprintf("%s imports %s, and may import %s of ours", folder, imported, list(r.ours)))
		}
	})
}

func checkReaders(t tree, report func(at, what string)) {
	t.ourImports(func(folder string, s source, imported string) {
		if readers, limited := onlyFor[imported]; limited && !slices.Contains(readers, folder) {
			report(s.path, fmt.Sprintf("%s imports %s, which is for %s only", folder, imported, list(readers)))
		}
	})
}

func checkPurity(t tree, report func(at, what string)) {
	t.each(func(folder string, s source) {
		r, _ := roomOf(folder)
		if !r.pure {
			return
		}
		for _, imported := range s.imports() {
			foreign := strings.Contains(strings.Split(imported, "/")[0], ".") && !strings.HasPrefix(imported, module+"/")
			if matchesAny(impure, imported) || foreign && !slices.Contains(r.outside, imported) {
				report(s.path, fmt.Sprintf("%s imports %s, and is pure: %s", folder, imported, r.reason))
			}
		}
		for call, function := range s.uses("time") {
			if slices.Contains(clock, function) {
				report(s.at(call), fmt.Sprintf("%s asks the clock (time.%s), and is pure: %s", folder, function, r.reason))
			}
		}
	})
}

func checkNever(t tree, report func(at, what string)) {
	t.each(func(folder string, s source) {
		r, _ := roomOf(folder)
		for _, imported := range s.imports() {
			if matchesAny(r.never, imported) {
				report(s.path, fmt.Sprintf("%s imports %s: %s", folder, imported, r.reason))
			}
		}
	})
}

func checkSilence(t tree, report func(at, what string)) {
	loud := map[string][]string{
		"fmt": {"Print", "Printf", "Println"},
		"os":  {"Stdout", "Stderr", "Exit"},
	}
	// What is left of log is what net/http wants its errors in.
	harmless := []string{"New", "Logger"}
	t.each(func(folder string, s source) {
		if strings.HasPrefix(folder, "cmd/") || mayTalk[s.path] != "" {
			return
		}
		if slices.Contains(s.imports(), "log/slog") {
			report(s.path, "imports log/slog")
		}
		for use, name := range s.uses("log") {
			if !slices.Contains(harmless, name) {
				report(s.at(use), "uses log."+name)
			}
		}
		for pkg, names := range loud {
			for use, name := range s.uses(pkg) {
				if slices.Contains(names, name) {
					report(s.at(use), "uses "+pkg+"."+name)
				}
			}
		}
	})
}

// uses returns the names of the package imported as importPath that s uses, by place.
func (s source) uses(importPath string) map[*ast.SelectorExpr]string {
	found := map[*ast.SelectorExpr]string{}
	pkg := s.name(importPath)
	if pkg == "" {
		return found
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := selector.X.(*ast.Ident); ok && id.Name == pkg {
				found[selector] = selector.Sel.Name
			}
		}
		return true
	})
	return found
}

func checkFunctions(t tree, report func(at, what string)) {
	t.each(func(_ string, s source) {
		for _, decl := range s.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && s.span(f) > maxFunction {
				report(s.at(f), fmt.Sprintf("%s has %d lines", f.Name.Name, s.span(f)))
			}
		}
	})
}

func checkFiles(t tree, report func(at, what string)) {
	t.each(func(folder string, s source) {
		if s.lines > maxFile || folder == "cmd/servegate" && s.lines > maxMain {
			report(s.path, fmt.Sprintf("has %d lines", s.lines))
		}
	})
}

func checkPackageSizes(t tree, report func(at, what string)) {
	for _, folder := range t.folders() {
		if n := len(t.packages[folder]); n > maxFiles {
			report(folder, fmt.Sprintf("has %d files beside its tests", n))
		}
	}
}

func checkInterfaces(t tree, report func(at, what string)) {
	t.each(func(_ string, s source) {
		ast.Inspect(s.File, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxInterface {
				report(s.at(i), fmt.Sprintf("an interface has %d methods", i.Methods.NumFields()))
			}
			return true
		})
	})
}

func checkNames(t tree, report func(at, what string)) {
	for _, folder := range t.folders() {
		if last := folder[strings.LastIndex(folder, "/")+1:]; slices.Contains(bannedNames, last) {
			report(folder, "says nothing about what is in it")
		}
	}
	t.each(func(_ string, s source) {
		base := strings.TrimSuffix(s.path[strings.LastIndex(s.path, "/")+1:], ".go")
		if slices.Contains(bannedNames, base) {
			report(s.path, "says nothing about what is in it")
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && banned(id.Name) && s.declares(id) {
				report(s.at(id), id.Name+" is not a name that the field uses")
			}
			return true
		})
	})
}

func banned(name string) bool {
	if slices.Contains(bannedAlone, strings.ToLower(name)) {
		return true
	}
	return slices.ContainsFunc(words(name), func(word string) bool { return slices.Contains(bannedWords, word) })
}

// words splits an identifier in mixed caps into its words, in lower case.
func words(name string) []string {
	var found []string
	begin := 0
	for i, r := range name {
		if i > begin && (r == '_' || unicode.IsUpper(r)) {
			found = append(found, strings.ToLower(strings.Trim(name[begin:i], "_")))
			begin = i
		}
	}
	return append(found, strings.ToLower(strings.Trim(name[begin:], "_")))
}

// declares reports whether id stands at the place where the thing that it names is
// declared; a name that another package chose is no fault of ours.
func (s source) declares(id *ast.Ident) bool {
	declared := false
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			declared = declared || n.Name == id
		case *ast.TypeSpec:
			declared = declared || n.Name == id
		case *ast.ValueSpec:
			declared = declared || slices.Contains(n.Names, id)
		case *ast.Field:
			declared = declared || slices.Contains(n.Names, id)
		case *ast.AssignStmt:
			declared = declared || n.Tok == token.DEFINE && slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool { return e == id })
		case *ast.RangeStmt:
			declared = declared || n.Tok == token.DEFINE && (n.Key == id || n.Value == id)
		}
		return !declared
	})
	return declared
}

func checkMarkers(t tree, report func(at, what string)) {
	t.each(func(_ string, s source) {
		for _, group := range s.Comments {
			for _, comment := range group.List {
				for _, marker := range []string{"TODO", "FIXME", "XXX", "HACK"} {
					if strings.Contains(comment.Text, marker) {
						report(s.at(comment), "says "+marker)
					}
				}
			}
		}
	})
}

// list writes patterns as a person reads them.
func list(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing"
	}
	return strings.Join(patterns, ", ")
}
