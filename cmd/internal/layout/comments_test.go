package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func checkPackageComments(t tree, report func(at, what string)) {
	for _, folder := range t.folders() {
		var with []string
		name := ""
		for _, s := range t.packages[folder] {
			name = s.Name.Name
			if s.Doc == nil {
				continue
			}
			with = append(with, s.path)
			begin := "Package " + name + " "
			if name == "main" {
				begin = "Command "
			}
			if !strings.HasPrefix(s.Doc.Text(), begin) {
				report(s.path, fmt.Sprintf("the package comment doesn't begin with %q", begin))
			}
		}
		if len(with) != 1 {
			report(folder, fmt.Sprintf("package %s has %d package comments: %s", name, len(with), list(with)))
		}
	}
}

// checkComments looks at what other packages can see: exported functions, methods of
// exported types, types, constants and variables. The comment of a group of constants or
// variables serves all of it.
func checkComments(t tree, report func(at, what string)) {
	t.each(func(_ string, s source) {
		if s.Name.Name == "main" {
			return
		}
		for _, decl := range s.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				known := d.Recv != nil && slices.Contains(selfEvident, d.Name.Name)
				if d.Doc == nil && d.Name.IsExported() && onExported(d.Recv) && !known {
					report(s.at(d), d.Name.Name+" has no comment")
				}
			case *ast.GenDecl:
				for _, name := range uncommented(d) {
					report(s.at(d), name+" has no comment")
				}
			}
		}
	})
}

// onExported reports whether a receiver's type can be named from outside; no receiver can.
func onExported(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	exported := false
	ast.Inspect(receiver.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported()
			return false
		}
		return true
	})
	return exported
}

func uncommented(d *ast.GenDecl) []string {
	var names []string
	if d.Doc != nil && (d.Tok != token.TYPE || !d.Lparen.IsValid()) {
		return nil
	}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Name.IsExported() {
				names = append(names, s.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if s.Doc == nil && s.Comment == nil && name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
