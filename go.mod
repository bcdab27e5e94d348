module github.com/servegate/servegate

go 1.26
