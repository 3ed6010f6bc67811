// GORM: AutoMigrate, associations, scopes, hooks, soft deletion, upserts. It writes a line for each answer.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// How statements are sent now.
var way = ""

// show writes an answer, or the code of an error.
func show(what string, answer any, err error) {
	what += way
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		answer = refused.Code
		fmt.Fprintln(os.Stderr, what+":", refused.Message, refused.Hint)
	} else if err != nil {
		answer = err.Error()
	}
	line, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\t%s\n", what, line)
}

// found asks for rows of one type.
func found[T any](what string, query *gorm.DB) {
	var rows []T
	err := query.Find(&rows).Error
	show(what, rows, err)
}

// scanned asks for rows that are no model.
func scanned(what string, query *gorm.DB) {
	rows := []map[string]any{}
	err := query.Scan(&rows).Error
	show(what, rows, err)
}

// done tells how many rows a statement has changed.
func done(what string, result *gorm.DB) {
	show(what, result.RowsAffected, result.Error)
}

func open(simple bool) *gorm.DB {
	now := time.Date(2024, 2, 28, 12, 0, 0, 0, time.UTC)
	db, err := gorm.Open(postgres.New(postgres.Config{DSN: os.Getenv("STRONGROOM_URL"), PreferSimpleProtocol: simple}),
		&gorm.Config{
			Logger:         logger.Default.LogMode(logger.Silent),
			TranslateError: false,
			NowFunc:        func() time.Time { now = now.Add(time.Minute); return now },
		})
	if err != nil {
		panic(err)
	}
	return db
}

func main() {
	db := open(false)
	show("migrated", "", db.AutoMigrate(models...))
	show("migrated again", "", db.AutoMigrate(models...))
	described(db)
	created(db)
	queried(db)
	computed(db)
	related(db)
	changed(db)
	// Without prepared statements: all values are in the text.
	way = ", simple protocol"
	queried(open(true))
	way = ""
	removed(db)
}

// described is what the migrator tells of the tables.
func described(db *gorm.DB) {
	for _, model := range models {
		types, err := db.Migrator().ColumnTypes(model)
		told := [][]any{}
		for _, column := range types {
			length, _ := column.Length()
			precision, scale, _ := column.DecimalSize()
			nullable, _ := column.Nullable()
			primary, _ := column.PrimaryKey()
			told = append(told, []any{column.Name(), column.DatabaseTypeName(), length, precision, scale, nullable, primary})
		}
		show(fmt.Sprintf("columns of %T", model), told, err)
	}
	show("index", db.Migrator().HasIndex(&Author{}, "idx_authors_mail"), nil)
	show("constraint", db.Migrator().HasConstraint(&Card{}, "fk_authors_card"), nil)
	tables, err := db.Migrator().GetTables()
	show("tables", len(tables), err)
	show("column added", "", db.Migrator().AddColumn(&wider{}, "Extra"))
}

func created(db *gorm.DB) {
	made := authors()
	done("authors", db.Create(&made))
	rows := books()
	done("books", db.CreateInBatches(&rows, 10))
	keys := []uint{}
	for _, book := range rows {
		keys = append(keys, book.ID)
	}
	show("keys", keys, nil)
	book := Book{Title: text("with all"), Tags: []Tag{{Name: text("red")}, {Name: text("blue"), Note: pointer(text("note"))}},
		Reviews: []Review{{Reader: text("ann"), Stars: 4, Text: text("good")}, {Reader: text("bob"), Stars: 2}},
		Author:  &Author{ID: key(9), Name: text("new author")}}
	done("nested", db.Create(&book))
	done("from a map", db.Model(&Tag{}).Create(map[string]any{"Name": text("green"), "Note": text("by map")}))
	done("key twice", db.Create(&Author{ID: key(1), Name: text("twice")}))
	done("mail twice", db.Create(&Author{ID: key(10), Name: text("twice"), Mail: pointer(canary + "1@example.com")}))
	done("no author", db.Create(&Book{AuthorID: pointer(key(77)), Title: text("orphan")}))
	done("too long", db.Create(&Tag{Name: text("%0100d", 7)}))
	var first Author
	err := db.Where(Author{Name: text("found")}).Attrs(Author{ID: key(11)}).FirstOrCreate(&first).Error
	show("first or create", first.ID, err)
	err = db.Where(Author{Name: text("found")}).Assign(Author{Active: true}).FirstOrCreate(&first).Error
	show("first or created", first.Active, err)
	done("ignored", db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Tag{Name: text("red")}))
	done("upsert of all", db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Tag{Name: text("red"), Note: pointer(text("all"))}))
	done("upsert of columns", db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "book_id"}, {Name: "reader"}},
		DoUpdates: clause.AssignmentColumns([]string{"stars", "text"})}).
		Create(&[]Review{{BookID: book.ID, Reader: text("ann"), Stars: 5, Text: text("better")}, {BookID: book.ID, Reader: text("eve"), Stars: 1}}))
	done("upsert of values", db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}},
		DoUpdates: clause.Assignments(map[string]any{"note": text("assigned")})}).Create(&Tag{Name: text("blue")}))
	computedUpserts(db, book.ID)
	found[Review]("reviews", db.Order("reader"))
	found[Tag]("tags", db.Order("name DESC"))
}

// computedUpserts are upon a row of their own, which is gone then.
func computedUpserts(db *gorm.DB, book uint) {
	review := Review{BookID: book, Reader: text("cid"), Stars: 2}
	done("review", db.Create(&review))
	keys := []clause.Column{{Name: "book_id"}, {Name: "reader"}}
	done("upsert that counts", db.Clauses(clause.OnConflict{Columns: keys,
		DoUpdates: clause.Assignments(map[string]any{"count": gorm.Expr("reviews.count + 1")})}).Create(&review))
	done("upsert in part", db.Clauses(clause.OnConflict{Columns: keys,
		Where:     clause.Where{Exprs: []clause.Expression{clause.Lt{Column: clause.Column{Table: "reviews", Name: "stars"}, Value: 3}}},
		DoUpdates: clause.AssignmentColumns([]string{"stars"})}).
		Create(&Review{BookID: book, Reader: text("cid"), Stars: 5}))
	found[Review]("upserted in part", db.Where("reader = ?", text("cid")))
	done("uncounted", db.Where("reader = ?", text("cid")).Delete(&Review{}))
}
