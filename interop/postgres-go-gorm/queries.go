package main

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// dear is a scope.
func dear(query *gorm.DB) *gorm.DB { return query.Where("price > ?", 12) }

func page(number, size int) func(*gorm.DB) *gorm.DB {
	return func(query *gorm.DB) *gorm.DB { return query.Offset(number * size).Limit(size).Order("id") }
}

func queried(db *gorm.DB) {
	var author Author
	show("first", &author, db.First(&author, "id = ?", key(1)).Error)
	var book Book
	show("by number", &book, db.First(&book, 4).Error)
	var last Book
	show("last", &last, db.Last(&last).Error)
	show("not found", nil, db.First(&Book{}, 4000).Error)
	found[Author]("by struct", db.Where(&Author{Name: text("bbb")}))
	found[Author]("by map", db.Where(map[string]any{"active": true}).Order("name"))
	found[Author]("in", db.Where("name IN ?", []string{text("aaa"), text("ccc"), text("zzz")}).Order("id"))
	found[Author]("not", db.Not("name = ?", text("aaa")).Order("name desc"))
	found[Author]("or", db.Where("born < ?", time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)).Or("mail IS NULL").Order("name"))
	found[Author]("between", db.Where("born BETWEEN ? AND ?", "1955-01-01", "1970-12-31").Order("born"))
	found[Book]("like", db.Select("id", "title").Where("title LIKE ?", "%Almanac%").Order("id"))
	found[Book]("ilike", db.Select("id").Where("title ILIKE ?", "%NOVEL 1_").Order("id"))
	found[Book]("escaped", db.Select("id").Where(`title LIKE ? ESCAPE '!'`, "%100!%%").Order("id"))
	found[Book]("scopes", db.Select("id", "price").Scopes(dear, page(1, 4)))
	found[Book]("lowered", db.Select("id").Where("lower(title) LIKE ?", "%almanac%").Order("id desc"))
	found[Book]("years", db.Select("id", "published").Where("date_part('year', published) = ?", 2002).Order("published"))
	found[Book]("since", db.Select("id").Where("published >= ? AND published < now()", time.Date(2003, 3, 1, 0, 0, 0, 0, time.UTC)).
		Order("published, id").Limit(3))
	found[Book]("null", db.Select("id").Where("price IS NULL").Order("id"))
	found[Book]("keyset page", db.Select("id", "sold").Where("(sold, id) > (?, ?)", 5000, 6).Order("sold, id").Limit(3))
	found[Book]("in tuples", db.Select("id").Where("(author_id, sold) IN ?", [][]any{{key(0), 3000}, {key(1), 4000}, {key(1), 1}}).Order("id"))
	found[Book]("subquery", db.Select("id").Where("price > (?)", db.Model(&Book{}).Select("avg(price)")).Order("id"))
	found[Author]("exists", db.Select("id").Where("EXISTS (?)", db.Model(&Book{}).Select("1").Where("books.author_id = authors.id")).Order("id"))
	found[Author]("not in", db.Select("id", "name").Where("id NOT IN (?)", db.Model(&Book{}).Select("author_id").Where("author_id IS NOT NULL")).Order("id"))
	found[Book]("group of conditions", db.Select("id").Where(db.Where("sold < ?", 3000).Or("sold > ?", 21000)).Where("title LIKE ?", "%novel%").Order("id"))
	found[Book]("locked", db.Clauses(clause.Locking{Strength: "UPDATE"}).Select("id").Where("title = ?", text("novel 4")))
	found[Book]("ordered by case", db.Select("id").Order(clause.OrderBy{Expression: clause.Expr{
		SQL: "CASE WHEN title LIKE ? THEN 0 ELSE 1 END, id", Vars: []any{"%Almanac%"}}}).Limit(7))
	var names []string
	show("plucked", &names, db.Model(&Author{}).Order("name").Pluck("name", &names).Error)
	var number int64
	show("counted", &number, db.Model(&Book{}).Where("sold > ?", 7000).Count(&number).Error)
	show("distinct count", &number, db.Model(&Book{}).Distinct("author_id").Count(&number).Error)
	parts := [][]uint{}
	var some []Book
	err := db.Where("sold >= ?", 12000).FindInBatches(&some, 5, func(*gorm.DB, int) error {
		keys := []uint{}
		for _, book := range some {
			keys = append(keys, book.ID)
		}
		parts = append(parts, keys)
		return nil
	}).Error
	show("in batches", parts, err)
	rows, err := db.Model(&Book{}).Select("title, sold").Where("id < ?", 4).Order("id").Rows()
	titles := []string{}
	for err == nil && rows.Next() {
		var row struct {
			Title string
			Sold  int64
		}
		err = db.ScanRows(rows, &row)
		titles = append(titles, row.Title)
	}
	show("rows", titles, err)
	if rows != nil {
		rows.Close()
	}
}

func computed(db *gorm.DB) {
	of := func() *gorm.DB { return db.Model(&Book{}) }
	scanned("sums", of().Select("sum(sold) AS sold, avg(price)::numeric(10,3)::text AS mean, min(published) AS first, max(title) AS last"))
	scanned("groups", of().Select("author_id, count(*) AS books, sum(price)::text AS price").Group("author_id").Order("author_id"))
	scanned("having", of().Select("author_id, max(sold) AS most").Group("author_id").Having("sum(sold) > ?", 90000).Order("author_id"))
	scanned("by month", of().Select("date_trunc('month', published) AS month, count(*) AS books").Group("month").Order("month").Limit(5))
	scanned("by year", of().Select("extract(year FROM published)::int AS year, string_agg(title, ', ' ORDER BY id) AS titles").
		Group("year").Order("year"))
	scanned("ranked", of().Select("id, rank() OVER (PARTITION BY author_id ORDER BY price DESC NULLS LAST) AS place").Order("id").Limit(6))
	scanned("distinct", of().Distinct("author_id", "version").Order("author_id"))
	scanned("joined", db.Table("authors AS a").Select("a.name, b.title, b.price::text AS price").
		Joins("JOIN books b ON b.author_id = a.id AND b.sold > ?", 9000).Where("a.mail = ?", canary+"2@example.com").Order("b.id"))
	scanned("left join", db.Model(&Author{}).Select("authors.name, count(books.id) AS books, coalesce(sum(books.price), 0)::text AS total").
		Joins("LEFT JOIN books ON books.author_id = authors.id").Group("authors.id, authors.name").Order("total DESC, authors.name"))
	scanned("from a query", db.Table("(?) AS best", of().Select("author_id, max(sold) AS most").Group("author_id")).
		Where("most > ?", 20000).Order("most"))
	scanned("computed", of().Select("id, upper(title) AS title, price * 2 AS twice, sold / 3.0 AS third, left(title, 6) AS start, "+
		"coalesce(price, 0) > 10 AS dear").Order("id").Limit(3))
	scanned("raw", db.Raw("WITH dear AS (SELECT * FROM books WHERE price > @price) SELECT count(*) AS n, max(price)::text AS most FROM dear",
		map[string]any{"price": 10}))
	scanned("union", db.Raw("? UNION ? ORDER BY 1", db.Model(&Author{}).Select("name"), db.Model(&Tag{}).Select("name")))
	scanned("JSON", db.Raw("SELECT json_agg(json_build_object('t', title, 'p', price) ORDER BY id)::text AS all FROM books WHERE id < 4"))
}

func related(db *gorm.DB) {
	found[Author]("preloaded", db.Preload("Card").Preload("Books", func(query *gorm.DB) *gorm.DB {
		return query.Where("price > ?", 15).Order("books.sold DESC")
	}).Order("authors.id"))
	found[Book]("nested preload", db.Preload("Author.Card").Preload("Tags").Preload("Reviews", "stars > ?", 1).Where("sold = 0").Order("id"))
	found[Book]("all associations", db.Preload(clause.Associations).Order("id").Limit(2))
	found[Book]("joined relation", db.Joins("Author").Where(`"Author".name = ?`, text("bbb")).Order("books.id").Limit(2))
	found[Author]("inner joined relation", db.InnerJoins("Card", db.Where(&Card{Number: text("card 2")})))
	book := Book{Model: gorm.Model{ID: 3}}
	show("append", "", db.Model(&book).Association("Tags").Append(&Tag{Name: text("red")}, &Tag{Name: text("new")}))
	var tags []Tag
	show("tags of a book", &tags, db.Model(&book).Order("name").Association("Tags").Find(&tags))
	show("count of tags", db.Model(&book).Association("Tags").Count(), nil)
	show("replace", "", db.Model(&book).Association("Tags").Replace(&Tag{Name: text("blue")}))
	show("clear", "", db.Model(&book).Association("Tags").Clear())
	show("delete of one", "", db.Model(&Author{ID: key(2)}).Association("Books").Delete(&Book{Model: gorm.Model{ID: 6}}))
	found[Book]("books of an author", db.Select("id").Where("author_id = ?", key(2)).Order("id"))
	scanned("through tags", db.Model(&Book{}).Select("books.id, t.name").Joins("JOIN book_tags bt ON bt.book_id = books.id").
		Joins("JOIN tags t ON t.name = bt.tag_name").Order("t.name"))
}

func changed(db *gorm.DB) {
	var author Author
	db.First(&author, "name = ?", text("aaa"))
	author.Name, author.Mail = text("renamed"), nil
	done("saved", db.Save(&author))
	done("column", db.Model(&author).Update("active", false))
	done("columns", db.Model(&Author{}).Where("name = ?", text("bbb")).Updates(map[string]any{"born": nil, "active": true}))
	done("struct", db.Model(&Author{ID: key(2)}).Updates(Author{Name: text("struct"), Active: false}))
	done("selected", db.Model(&Author{ID: key(3)}).Select("name", "active").Updates(Author{Name: text("selected")}))
	done("no hooks", db.Model(&Book{}).Where("id = ?", 4).UpdateColumn("sold", gorm.Expr("sold + ?", 5)))
	done("expression", db.Model(&Book{}).Where("title LIKE ?", "%Almanac%").UpdateColumn("price", gorm.Expr("price * ? + ?", 2, 0.25)))
	done("by a query", db.Model(&Book{}).Where("author_id IN (?)", db.Model(&Author{}).Select("id").Where("name LIKE ?", "%struct")).
		UpdateColumn("title", gorm.Expr("title || '!'")))
	done("set by a query", db.Model(&Book{}).Where("id = 5").UpdateColumn("title", db.Model(&Author{}).Select("name").Where("authors.id = books.author_id")))
	var books []Book
	done("returning", db.Model(&books).Clauses(clause.Returning{Columns: []clause.Column{{Name: "id"}, {Name: "sold"}}}).
		Where("sold BETWEEN ? AND ?", 2000, 3000).UpdateColumn("sold", gorm.Expr("sold * 10")))
	show("returned", len(books), nil)
	// An optimistic lock: the second has an old version.
	var one, other Book
	db.First(&one, 8)
	db.First(&other, 8)
	done("version", db.Model(&one).Where("version = ?", one.Version).Updates(Book{Title: text("one")}))
	done("old version", db.Model(&other).Where("version = ?", other.Version).Updates(Book{Title: text("other")}))
	err := db.Transaction(func(tx *gorm.DB) error {
		tx.Create(&Tag{Name: text("outer")})
		tx.Transaction(func(tx *gorm.DB) error {
			tx.Create(&Tag{Name: text("inner")})
			return gorm.ErrInvalidData
		})
		tx.SavePoint("here")
		tx.Where("name LIKE ?", "%e%").Delete(&Tag{})
		tx.RollbackTo("here")
		return nil
	})
	show("nested transactions", "", err)
	err = db.Transaction(func(tx *gorm.DB) error {
		tx.Where("1 = 1").Delete(&Review{})
		return gorm.ErrInvalidTransaction
	})
	show("undone", "", err)
	found[Tag]("tags left", db.Order("name"))
	found[Book]("changed books", db.Where("version > 0 OR sold >= 20000 OR title LIKE '%!' OR id IN (1, 4, 5)").Order("id"))
	found[Author]("changed authors", db.Order("id"))
	shown := db.Session(&gorm.Session{DryRun: true}).First(&Author{}, "name = ?", text("x")).Statement
	show("dry run", shown.SQL.String(), nil)
}

func removed(db *gorm.DB) {
	done("softly", db.Where("sold > ?", 21000).Delete(&Book{}))
	found[Book]("without the deleted", db.Select("id").Where("sold > ?", 20000).Order("id"))
	found[Book]("with the deleted", db.Unscoped().Select("id", "deleted_at").Where("deleted_at IS NOT NULL").Order("id"))
	done("restored", db.Unscoped().Model(&Book{}).Where("id = ?", 24).Update("deleted_at", nil))
	done("for good", db.Unscoped().Where("title LIKE ? AND sold < ?", "%Almanac%", 6000).Delete(&Book{}))
	var books []Book
	done("deleted, returning", db.Unscoped().Clauses(clause.Returning{}).Where("sold = ?", 7000).Delete(&books))
	show("what was deleted", books, nil)
	done("selected associations", db.Select("Card").Unscoped().Delete(&Author{ID: key(1)}))
	done("by a subquery", db.Where("author_id IN (?)", db.Model(&Author{}).Select("id").Where("active")).Delete(&Card{}))
	found[Card]("cards left", db.Order("id"))
	found[Book]("books left", db.Unscoped().Order("id"))
	show("dropped", "", db.Migrator().DropColumn(&wider{}, "extra"))
}
