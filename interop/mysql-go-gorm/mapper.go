package main

import (
	"time"

	driver "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// Person has columns with rules.
type Person struct {
	ID     int32      `gorm:"primaryKey;autoIncrement:false;type:int"`
	Name   string     `gorm:"size:40;not null"`
	Born   *time.Time `gorm:"type:date;index"`
	Salary *string    `gorm:"type:decimal(12,2)"`
	Score  *int64
	Photo  []byte `gorm:"type:blob"`
	Active *bool
	Visits []Visit
}

// TableName is that of the rules.
func (Person) TableName() string { return "person" }

// Visit has a key that the server makes.
type Visit struct {
	Number   int32  `gorm:"primaryKey;autoIncrement;type:int"`
	PersonID int32  `gorm:"type:int"`
	Note     string `gorm:"type:text"`
}

// TableName is that of the rules.
func (Visit) TableName() string { return "visit" }

func mapper() {
	for _, way := range []string{"texts", "prepared"} {
		own := configuration()
		own.InterpolateParams = way == "texts"
		db, err := gorm.Open(driver.New(driver.Config{DSNConfig: own}), &gorm.Config{
			Logger: logger.Default.LogMode(logger.Silent), PrepareStmt: way == "prepared"})
		must(err)
		way += ": "
		must(db.Migrator().DropTable(&Visit{}, &Person{}))
		made := db.Set("gorm:table_options", "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin")
		for _, time := range []string{"migrated", "migrated again"} {
			says(way+time, func() (any, error) { return true, made.AutoMigrate(&Person{}, &Visit{}) })
		}
		says(way+"types", func() (any, error) {
			types, err := db.Migrator().ColumnTypes(&Person{})
			var told []any
			for _, one := range types {
				kind, _ := one.ColumnType()
				length, has := one.Length()
				nullable, _ := one.Nullable()
				told = append(told, []any{one.Name(), kind, length, has, nullable})
			}
			return told, err
		})
		says(way+"has", func() (any, error) {
			return []bool{db.Migrator().HasTable("person"), db.Migrator().HasColumn(&Person{}, "born"),
				db.Migrator().HasIndex(&Person{}, "Born"), db.Migrator().HasConstraint(&Person{}, "Visits")}, nil
		})
		uses(db, way)
	}
}

func uses(db *gorm.DB, way string) {
	does := func(name string, of func() *gorm.DB) {
		says(way+name, func() (any, error) {
			done := of()
			return done.RowsAffected, done.Error
		})
	}
	born := time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC)
	salary, score := "12.50", int64(9007199254740993)
	people := []Person{
		{ID: 1, Name: canary + " ann", Born: &born, Salary: &salary, Score: &score, Photo: []byte("photo"),
			Visits: []Visit{{Note: canary + " one"}, {Note: canary + " two"}}},
		{ID: 2, Name: canary + " bob"},
		{ID: 3, Name: canary + " cay"},
	}
	does("create", func() *gorm.DB { return db.Create(&people) })
	var person Person
	does("first", func() *gorm.DB { return db.Preload("Visits").First(&person, 1) })
	say(way+"person", person)
	var found []Person
	does("by text", func() *gorm.DB { return db.Where("name = ?", canary+" bob").Find(&found) })
	say(way+"found", found)
	does("by range", func() *gorm.DB { return db.Where("born < ?", born.AddDate(1, 0, 0).Format("2006-01-02")).Find(&found) })
	does("in", func() *gorm.DB { return db.Find(&found, []int{2, 3, 4}) })
	does("joined", func() *gorm.DB {
		var notes []string
		return db.Model(&Visit{}).Joins("JOIN person ON person.id = visit.person_id").Where("person.id = ?", 1).
			Pluck("note", &notes)
	})
	var count int64
	does("count", func() *gorm.DB { return db.Model(&Person{}).Where("id <> ?", 1).Count(&count) })
	say(way+"counted", count)
	does("update", func() *gorm.DB { return db.Model(&person).Update("name", canary+" anna") })
	does("updates", func() *gorm.DB { return db.Model(&Person{ID: 2}).Updates(map[string]any{"salary": "3.25"}) })
	does("increment", func() *gorm.DB { return db.Model(&Person{ID: 1}).Update("score", gorm.Expr("score + ?", 1)) })
	does("save", func() *gorm.DB { person.Photo = []byte("other"); return db.Save(&person) })
	does("upsert", func() *gorm.DB {
		return db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})}).
			Create(&Person{ID: 3, Name: canary + " new"})
	})
	does("ignored", func() *gorm.DB {
		return db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Person{ID: 3, Name: "x"})
	})
	does("duplicate key", func() *gorm.DB { return db.Create(&Person{ID: 1, Name: "x"}) })
	says(way+"rolled back", func() (any, error) {
		err := db.Transaction(func(own *gorm.DB) error {
			must(own.Delete(&Visit{}, "person_id = ?", 1).Error)
			return gorm.ErrInvalidTransaction
		})
		return nil, err
	})
	says(way+"nested", func() (any, error) {
		return "ok", db.Transaction(func(own *gorm.DB) error {
			_ = own.Transaction(func(inner *gorm.DB) error {
				must(inner.Create(&Person{ID: 9, Name: "x"}).Error)
				return gorm.ErrInvalidTransaction
			})
			return own.Create(&Person{ID: 10, Name: canary}).Error
		})
	})
	does("batches", func() *gorm.DB {
		return db.Where("id > ?", 0).FindInBatches(&found, 2, func(*gorm.DB, int) error { return nil })
	})
	does("locked", func() *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&person, 1) })
	does("deleted visits", func() *gorm.DB { return db.Where("person_id = ?", 1).Delete(&Visit{}) })
	does("deleted", func() *gorm.DB { return db.Delete(&Person{}, []int{1, 2}) })
	does("left", func() *gorm.DB { return db.Order("id").Find(&found) })
	say(way+"who is left", found)
}
